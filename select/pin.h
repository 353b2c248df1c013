/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* GuestPinToPrimaries: guests run only on cores allocated to primaries. */
#ifndef HPCB_SELECT_PIN_H
#define HPCB_SELECT_PIN_H

#include "select/shadow.h"

/*
 * Return the resources that a guest must not use on the candidates: exc (may be NULL)
 * and all cores without a primary.  NULL if guests are not pinned.  The caller returns
 * it by hpcb_unpin(), before exc is freed.
 */
extern hpcb_exc_t *hpcb_pin(const bitstr_t *candidates, const hpcb_exc_t *exc);
extern void hpcb_unpin(hpcb_exc_t *pin);

#endif
