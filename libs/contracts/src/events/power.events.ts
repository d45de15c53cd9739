import * as z from 'zod';
import { Cause } from '../failures.js';
import { PowerAction, PowerState } from '../host-power.js';
import { ClusterUid, ConnectionName, NodeName } from '../ids.js';
import { defineEvent } from './definition.js';

const uid = ClusterUid;
const node = NodeName;
const requestId = z.string().describe('Of the PowerCycleRequested');
const answered = {
  connection: ConnectionName,
  host: NodeName.describe('Its name in the inventory'),
  action: PowerAction,
  request: z.int().min(1).describe('The sequence of the HostPowerRequested'),
};

/** The power of hosts of an inventory, through their management controllers. */
export const powerEvents = {
  HostPowerRequested: defineEvent({
    version: 1,
    writer: 'gateway',
    context: 'request',
    scope: 'installation',
    doc: 'An administrator requested that the power of a host of an inventory is switched, or asked for.',
    data: z.strictObject({ name: ConnectionName, host: answered.host, action: PowerAction }),
  }),
  HostPowerAnswered: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'The management controller of a host did what was requested, and says whether its power is on.',
    data: z.strictObject({ ...answered, power: PowerState }),
  }),
  HostPowerFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'resources-<connection>',
    doc: 'The power of a host could not be switched or asked for; the cause says why.',
    data: z.strictObject({ ...answered, cause: Cause }),
  }),
  VmPowerManaged: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'machines',
    doc: 'The inventory says how the power of the host of a machine is controlled, or does not say it any more.',
    data: z.strictObject({ uid, node, managed: z.boolean() }),
  }),
  PowerCycleRequested: defineEvent({
    version: 1,
    writer: 'upgrade-svc',
    context: 'rollout',
    doc: 'A node does not answer: the power of its host will be switched off and on.',
    data: z.strictObject({ uid, node, requestId: z.string().describe('Of the RemediationRequested') }),
  }),
  VmPowerCycled: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'power',
    doc: 'The power of the host of a machine was switched off and on.',
    data: z.strictObject({ uid, node, requestId }),
  }),
  VmPowerCycleFailed: defineEvent({
    version: 1,
    writer: 'infra-svc',
    context: 'power',
    doc: 'The power of the host of a machine could not be switched off and on; the cause says why.',
    data: z.strictObject({ uid, node, requestId, cause: Cause }),
  }),
} as const;
