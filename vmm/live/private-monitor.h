/* SPDX-License-Identifier: MIT */
/*
 * A private monitor: one end of a socketpair that QEMU takes as a monitor of its own, with no path on disk. It
 * is made over another monitor, and gone when our end is closed. QEMU 11.1 has them: see live_link_private_id().
 * On the thread of the peer (see peer.h).
 */
#pragma once

#include "qmp/peer.h"

typedef struct PrivateMonitor PrivateMonitor; /* one that is being made */

/* fd: our end, which is the callee's: a greeting will come. Or -1 with the reason; nothing is left behind then. */
typedef void (*PrivateMonitorMade)(int fd, const GError *error, void *opaque);

/* `made` is called once, later, unless the peer is freed before: then private_monitor_free() is due. id: that of the
 * objects in QEMU. */
PrivateMonitor *private_monitor_make(QmpPeer *peer, const char *id, PrivateMonitorMade made, void *opaque);
void private_monitor_free(PrivateMonitor *monitor);
