#include <openssl/hmac.h>
#include <openssl/ssl.h>
