/* SPDX-License-Identifier: MIT */
/* vmm/io-latency.c: percentiles, exact to 3 %. */
#include "vmm/io-latency.h"

static void test_empty(void)
{
    g_autofree IoLatency *latency = g_new0(IoLatency, 1);
    g_assert_cmpuint(io_latency_percentile(latency, 500), ==, 0);
}

static void test_each_value(void)
{
    for (guint64 ns = 1; ns < G_MAXUINT64 / 3; ns += ns / 7 + 1) {
        g_autofree IoLatency *latency = g_new0(IoLatency, 1);
        guint64 told;

        io_latency_add(latency, ns);
        told = io_latency_percentile(latency, 999);
        g_assert_cmpuint(told, >=, ns);
        g_assert_cmpuint(told - ns, <=, ns / 32);
    }
}

static void test_percentiles(void)
{
    g_autofree IoLatency *latency = g_new0(IoLatency, 1);

    for (guint i = 0; i < 1000; i++)
        io_latency_add(latency, i < 500 ? 10 : i < 990 ? 20 : i < 999 ? 30 : 31);
    g_assert_cmpuint(io_latency_percentile(latency, 500), ==, 10);
    g_assert_cmpuint(io_latency_percentile(latency, 990), ==, 20);
    g_assert_cmpuint(io_latency_percentile(latency, 999), ==, 30);
    g_assert_cmpuint(io_latency_percentile(latency, 1000), ==, 31);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/io-latency/empty", test_empty);
    g_test_add_func("/io-latency/each-value", test_each_value);
    g_test_add_func("/io-latency/percentiles", test_percentiles);
    return g_test_run();
}
