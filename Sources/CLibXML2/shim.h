#pragma once
#include <libxml/xmlversion.h>
// Debian's libxml2 would include the headers of ICU, which are not those of Foundation's own ICU. Nothing here needs them.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
