/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* GuestPinToPrimaries: guests only on cores that primaries hold. */
#ifndef HPCB_SELECT_PIN_H
#define HPCB_SELECT_PIN_H

#include "select/shadow.h"

/*
 * What a guest must keep off on the candidates: exc (which may be NULL) and all
 * cores that no primary holds. NULL where guests are not pinned. The caller
 * gives it back with hpcb_unpin(), before exc is freed.
 */
extern hpcb_exc_t *hpcb_pin(const bitstr_t *candidates, const hpcb_exc_t *exc);
extern void hpcb_unpin(hpcb_exc_t *pin);

#endif
