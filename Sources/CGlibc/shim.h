#include <malloc.h>
#include <stddef.h>

int wcwidth(wchar_t character);
