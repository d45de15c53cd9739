import * as z from 'zod';
import { EVERYONE } from './network/firewall.js';

const NETWORKS_MAX = 20;

/** The setting for who may connect to the Kubernetes API at the firewall that all machines of a connection share. */
export const ApiNetworks = z
  .union(
    [
      z.literal(EVERYONE),
      z
        .array(z.cidrv4({ error: 'is not a network, e.g. 192.0.2.0/24' }))
        .min(1)
        .max(NETWORKS_MAX),
    ],
    {
      error: `is neither ${EVERYONE} nor a list of networks, e.g. ["192.0.2.0/24"]`,
    },
  )
  .optional()
  .describe(
    `Who may connect to the API of its clusters at the provider's firewall: networks, Fairlead's among them, or ${EVERYONE}. Left out: ${EVERYONE}; nodes close it themselves`,
  );
