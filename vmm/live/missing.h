/* SPDX-License-Identifier: MIT */
/*
 * What a running QEMU still has to be asked for, so that something is current. This one rule decides both whether a
 * fetch is needed and when it is done. It only looks: with the tree's lock, or on the live thread.
 */
#pragma once

#include "objmodel/source.h"
#include "vmm/live/answers.h"
#include "vmm/live/object.h"
#include "vmm/live/want.h"

typedef struct LiveNeed {
    const char *path, *property; /* as SourceOps has them */
    SourceScope scope;
    gint64 since;        /* what is older is not current, on the monotonic clock */
    gboolean structure;  /* what there is in the whole tree, for nobody in particular */
    gboolean containers; /* only of what devices and objects are put into, and of what is new there */
    gboolean urgent;     /* somebody waits */
} LiveNeed;

typedef struct LiveKnown {
    const LiveTree *tree;
    const LiveAnswers *answers;
    gboolean bulk;   /* the target has qom-list-get */
    gint64 links_us; /* so much older links may be that have to be asked for one by one */
} LiveKnown;

/* Hears of each thing that is missing; TRUE: that is enough. */
typedef gboolean LiveMissingFunc(const LiveWant *want, void *opaque);

/* TRUE where `found` said that it is enough. */
gboolean live_missing(const LiveKnown *known, const LiveNeed *need, LiveMissingFunc *found, void *opaque);
