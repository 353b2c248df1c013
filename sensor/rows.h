/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The rows of the table of sensors, each in the file of its name. */
#ifndef HPCB_SENSOR_ROWS_H
#define HPCB_SENSOR_ROWS_H

#include "sensor/sensor.h"

extern const hpcb_sensor_t hpcb_sensor_cpu;
extern const hpcb_sensor_t hpcb_sensor_delay;
extern const hpcb_sensor_t hpcb_sensor_pressure;
extern const hpcb_sensor_t hpcb_sensor_network;
extern const hpcb_sensor_t hpcb_sensor_fabric;
extern const hpcb_sensor_t hpcb_sensor_resctrl;
extern const hpcb_sensor_t hpcb_sensor_papi_cores;
extern const hpcb_sensor_t hpcb_sensor_papi_instructions;
extern const hpcb_sensor_t hpcb_sensor_papi_sockets;

#endif
