#include <linux/magic.h>
#include <malloc.h>
#include <stddef.h>
#include <sys/vfs.h>

int wcwidth(wchar_t character);
