#pragma once
#include <libxml/xmlversion.h>
// Otherwise, Debian's libxml2 would include the headers of the system's ICU, which differ from the headers of Foundation's own
// ICU. Nothing here needs ICU.
#undef LIBXML_ICU_ENABLED
#include <libxml/parser.h>
