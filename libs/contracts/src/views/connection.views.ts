import * as z from 'zod';
import { PowerAction, PowerProtocol, PowerState } from '../host-power.js';
import { HostChecks } from '../own-hosts.js';
import { paged } from './list.views.js';
import { Quota } from '../quota.js';
import { time } from './time.js';

export const NamespaceView = z
  .strictObject({
    name: z.string(),
    kind: z.literal('Namespace'),
    description: z.string(),
    quota: Quota,
    createdTime: time,
  })
  .meta({ id: 'Namespace' });
export type NamespaceView = z.infer<typeof NamespaceView>;

export const NamespaceList = z
  .strictObject({ kind: z.literal('NamespaceList'), items: z.array(NamespaceView), ...paged })
  .meta({ id: 'NamespaceList' });
export type NamespaceList = z.infer<typeof NamespaceList>;

const knownHostKey = z
  .strictObject({
    fingerprint: z.string().describe('SHA256:<base64>, as ssh-keygen -lf prints it'),
    source: z
      .enum(['settings', 'accepted', 'first-seen'])
      .describe('Why it counts: the settings name it, an administrator accepted it, or it was the first one seen'),
  })
  .nullable()
  .describe('The SSH host key that it has to show; null: none is known yet, and the first one seen will be pinned');

const hostPower = z
  .strictObject({
    protocol: PowerProtocol,
    last: z
      .strictObject({
        action: PowerAction,
        request: z.int().describe('The sequence of the request, as in X-Fairlead-Seq'),
        power: PowerState.nullable().describe('null: it failed'),
        problem: z.string().describe('Why it failed; empty: it did not'),
        time,
      })
      .nullable()
      .describe('The answer to the last request; null: there was none'),
  })
  .optional()
  .describe('How its power is controlled; absent: by hand');

const rotationHosts = z
  .array(z.strictObject({ namespace: z.string(), cluster: z.string(), node: z.string() }))
  .describe('At most the first 100 of them');

const sshKeyView = z
  .strictObject({
    name: z.string().describe('Its name at the provider'),
    publicKey: z.string(),
    rotation: z
      .strictObject({
        status: z
          .enum(['requested', 'replacing', 'failed'])
          .describe(
            'requested: the provider does not have the new key yet; failed: it stopped until it is requested again',
          ),
        requestedTime: time,
        replaced: z.int().describe('Hosts that accept the new key only'),
        pending: z.int().describe('Hosts that still need the former key'),
        hosts: rotationHosts,
        problem: z.string().describe('The last failure; empty: none'),
      })
      .nullable()
      .describe('The rotation that has not ended; null: there is none'),
    rotated: z
      .strictObject({
        time,
        replaced: z.int(),
        leftOut: z.int().describe('Hosts that had only the former key when the rotation was forced'),
        hosts: rotationHosts,
      })
      .nullable()
      .describe('The rotation that ended last; null: there was none'),
  })
  .meta({ id: 'SshKey' });

export const ConnectionCredentialView = z
  .strictObject({
    kind: z.literal('ConnectionCredential'),
    name: z.string(),
    secret: z.string().optional().describe('Absent: only hosts of its inventory have keys'),
    keys: z.record(z.string(), z.string()).describe('Keys of single hosts of its inventory, by their names'),
  })
  .meta({ id: 'ConnectionCredential', description: 'What a connection signs in with' });
export type ConnectionCredentialView = z.infer<typeof ConnectionCredentialView>;

export const ConnectionView = z
  .strictObject({
    name: z.string(),
    kind: z.literal('Connection'),
    provider: z.string(),
    region: z.string(),
    zone: z.string(),
    settings: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("The provider's own settings, addresses included; only administrators of all namespaces see them"),
    hasSecret: z
      .boolean()
      .optional()
      .describe('Whether a secret is sealed for it; the secret itself is never returned. Only for administrators'),
    namespaces: z
      .array(z.string())
      .optional()
      .describe('Whose clusters may use it, "*" for those of all. Only for administrators'),
    quota: Quota.optional().describe('The most that all clusters may take of it. Only for administrators'),
    registeredTime: time,
    verified: z
      .strictObject({ at: time, zones: z.array(z.string()), specs: z.int(), nlb: z.boolean(), simulated: z.boolean() })
      .nullable()
      .describe('What the provider offered when infra-svc last reached it; null: never reached'),
    checkedTime: time
      .nullable()
      .describe('When infra-svc last said whether the provider is reached, in verified or problem; null: not yet'),
    problem: z
      .string()
      .describe('Why it cannot be used now; empty when nothing is known against it. Only administrators see the words'),
    hosts: z
      .array(
        z.strictObject({
          name: z.string(),
          address: z.string(),
          zone: z.string(),
          spec: z.string(),
          state: z
            .enum(['free', 'in-use', 'kept-out', 'unreached'])
            .describe(
              'kept-out: it was given back and could not be reset; unreached: no cluster has it, and it cannot be used, for the reason in problem',
            ),
          cluster: z.string().describe('<namespace>/<cluster> that has it, or had it; empty: none'),
          machine: z.string(),
          lastNamespace: z
            .string()
            .describe('The namespace that has it or had it last; empty: none, or it was accepted since'),
          hostKey: knownHostKey,
          problem: z.string().describe('What is wrong with it, as it was found last; empty: nothing'),
          warning: z.string().describe('What should be changed although it can become a node; empty: nothing'),
          checks: HostChecks.describe('What the last inspection found, by check; empty: none has been recorded'),
          power: hostPower,
        }),
      )
      .optional()
      .describe('The inventory of your own hosts, for administrators'),
    jump: z
      .strictObject({ address: z.string(), port: z.int(), user: z.string(), hostKey: knownHostKey })
      .optional()
      .describe('The host through which all others are reached, for administrators'),
    sshKey: sshKeyView
      .optional()
      .describe('The SSH key of its machines, for administrators; absent: no machine has been created'),
  })
  .meta({ id: 'Connection' });
export type ConnectionView = z.infer<typeof ConnectionView>;

export const ConnectionList = z
  .strictObject({ kind: z.literal('ConnectionList'), items: z.array(ConnectionView), ...paged })
  .meta({ id: 'ConnectionList' });
export type ConnectionList = z.infer<typeof ConnectionList>;

export const OrphanView = z
  .strictObject({
    id: z.string().describe("The provider's id"),
    name: z.string(),
    group: z.string().describe('The group that it was requested in: <namespace>.<cluster>.<connection>'),
    status: z.enum(['creating', 'running', 'stopped', 'failed']).describe('When it was found'),
    spec: z.string().describe('Its machine type; empty: the provider does not say'),
    zone: z.string().describe('Empty: the provider does not say'),
    foundTime: time,
    deletion: z.enum(['none', 'requested', 'refused']),
    reason: z.string().describe('Why it was not deleted; empty: its deletion was not requested, or is in progress'),
  })
  .meta({ id: 'Orphan', description: "A machine that carries a connection's marks, and that no cluster has planned" });
export type OrphanView = z.infer<typeof OrphanView>;

export const OrphanList = z
  .strictObject({ kind: z.literal('OrphanList'), items: z.array(OrphanView), ...paged })
  .meta({ id: 'OrphanList' });
export type OrphanList = z.infer<typeof OrphanList>;

export const SpecList = z
  .strictObject({
    kind: z.literal('specList'),
    connectionName: z.string(),
    items: z.array(
      z.strictObject({
        name: z.string(),
        memory: z.string().describe('GiB'),
        cpu: z.strictObject({ count: z.string(), clock: z.string().describe('GHz') }),
      }),
    ),
  })
  .meta({ id: 'SpecList' });
export type SpecList = z.infer<typeof SpecList>;
