import * as z from 'zod';
import { NodeName } from '../ids.js';
import { AddressLabel, TRANSPORTS_MAX, VIRTUAL_ADDRESSES_MAX } from './virtual.addresses.js';

/** Maximum number of upstreams in a node's report; those that do not answer come first. */
export const PROBED_UPSTREAMS_MAX = 500;

const count = z.int().min(0).max(PROBED_UPSTREAMS_MAX);

const TransportReport = z.strictObject({
  name: AddressLabel,
  reached: z.boolean().describe('The port of the address accepts a connection from this node'),
  up: count.describe('How many of the nodes behind it answer their health check'),
  of: count,
  upstreams: z
    .record(NodeName, z.boolean())
    .refine((upstreams) => Object.keys(upstreams).length <= PROBED_UPSTREAMS_MAX, { error: 'has too many nodes' })
    .describe('Whether each of them answers; those that do not are listed first'),
});

/** More control planes than any cluster has, those that are added before others leave included. */
const API_UPSTREAMS_MAX = 16;

export const ApiUpstreams = z
  .record(NodeName, z.boolean())
  .refine((upstreams) => Object.keys(upstreams).length <= API_UPSTREAMS_MAX, { error: 'has too many nodes' })
  .describe('Whether the API server of each control plane passes the health check of the balancer');

const AddressReport = z.strictObject({
  name: AddressLabel,
  held: z.boolean().describe('An interface of this node has the address'),
  transports: z.array(TransportReport).max(TRANSPORTS_MAX),
});
export type AddressReport = z.infer<typeof AddressReport>;

export const AddressReports = z.array(AddressReport).max(VIRTUAL_ADDRESSES_MAX);
