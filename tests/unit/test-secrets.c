/* SPDX-License-Identifier: MIT */
/* vmm/secrets.c: which properties are secrets, and which are none. */
#include "vmm/secrets.h"

static void test_secrets(void)
{
    g_assert_true(secret_property("secret", "data"));
    g_assert_true(secret_property("secret_keyring", "data"));
}

static void test_none(void)
{
    static const char *const properties[] = {"type", "file", "format", "keyid", "iv", "loaded", "serial", "Data", ""};
    static const char *const types[] = {"string", "rng-random", "tls-creds-x509", "secret2", "secre", "Secret", ""};

    for (guint i = 0; i < G_N_ELEMENTS(properties); i++) {
        g_assert_false(secret_property("secret", properties[i]));
        g_assert_false(secret_property("secret_keyring", properties[i]));
    }
    for (guint i = 0; i < G_N_ELEMENTS(types); i++)
        g_assert_false(secret_property(types[i], "data"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/secrets/secrets", test_secrets);
    g_test_add_func("/secrets/none", test_none);
    return g_test_run();
}
