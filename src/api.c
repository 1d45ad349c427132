/* SPDX-License-Identifier: BSD-2-Clause
 * api.c - public functions that belong to no other file. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "simd/simd.h"
#include "src/engine/gemm.h"
#include "src/base/cores.h"
#include "src/base/mem.h"
#include "src/base/status.h"
#include "src/template/template.h"

const char *gkv_version(void)
{
    return PACKAGE_VERSION;
}

const char *gkv_cpu(void)
{
    const struct gkv__simd *k = gkv__simd();

    return k ? k->level : "unknown";
}

gkv_status gkv_cpu_cap(const char *level, gkv_error *err)
{
    char list[128];
    const char *name;
    unsigned mask;
    size_t at = 0;

    if (!gkv__simd_cap(level))
        return GKV_OK;
    list[0] = 0;
    for (size_t i = 0; (name = gkv__simd_level(i, &mask)); i++)
        at += (size_t)snprintf(list + at, sizeof list - at, " %s", name);
    return gkv__fail_unknown(err, "CPU level", level, strlen(level), list);
}

const char *gkv_cpu_describe(size_t i)
{
    return gkv__simd_describe(i);
}

const char *gkv_threads_describe(size_t i)
{
    return gkv__cores_describe(i);
}

const char *gkv_gemm_describe(size_t i)
{
    return gkv__gemm_describe(i);
}

const char *gkv_template_describe(size_t i)
{
    const struct gkv__template *t = gkv__template_at(i);

    return t ? t->summary : NULL;
}

uint64_t gkv_memory_default(void)
{
    return gkv__mem_available() / 5 * 4;
}

const char *gkv_stage_name(gkv_stage stage)
{
    static const char *const name[] = {
        [GKV_STAGE_FIRST_PASS] = "first pass", [GKV_STAGE_PASSAGES] = "passages",
        [GKV_STAGE_SECOND_PASS] = "second pass", [GKV_STAGE_PREFILL] = "prefill",
        [GKV_STAGE_CALIBRATE] = "calibrate", [GKV_STAGE_THINKING] = "thinking",
    };

    return (size_t)stage < sizeof name / sizeof *name ? name[stage] : "work";
}
