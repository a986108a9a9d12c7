#include <stddef.h>

/// A file that is embedded in the executable.
struct embedded_file {
    /// Such as `page/main.js`.
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

extern const struct embedded_file *const embedded_files;
extern const size_t embedded_file_count;
