import { MachineSpec, PROVIDER_ID_MAX, type ClusterUid, type NodeName } from '@fairlead/contracts';
import * as z from 'zod';
import type { ListedMachine } from '../../providers/provider.ports.js';

/** Responses of an external provider, converted to the types of the port. */

const text = z.string().max(1_000);
const port = z.int().min(1).max(65_535);

export const Capabilities = z.object({ nlb: z.boolean(), simulated: z.boolean() });

export const Specs = z.object({
  specs: z
    .array(z.object({ name: text, cpuCount: z.int(), memoryGib: z.number(), cpuClockGhz: z.number() }))
    .max(10_000)
    .transform((all) =>
      all.map(({ name, cpuCount, memoryGib: memoryGiB, cpuClockGhz: clock }) => ({
        ...{ name, cpuCount, memoryGiB },
        cpuClockGHz: clock === 0 ? null : clock,
      })),
    )
    .pipe(z.array(MachineSpec)),
});

export const Region = z.object({ found: z.boolean(), name: text, zones: z.array(text).max(1_000) });
export const Image = z.object({ name: text.min(1), os: text });
export const Network = z.object({ name: text.min(1), subnet: text, cidr: z.cidrv4() });
export const Firewall = z.object({ name: text.min(1) });
export const SshKey = z.object({ name: text.min(1), publicKey: text });
export const Empty = z.unknown();

export const LoadBalancer = z.object({
  ...{ name: text.min(1), host: text.min(1), port },
  placement: z.enum(['provider', 'control-planes', 'elsewhere']),
});

const Reported = z.object({
  id: z.string().min(1).max(PROVIDER_ID_MAX),
  name: z.string().transform((name) => name as NodeName),
  uid: z.string().transform((uid) => uid as ClusterUid),
  group: text,
  spec: text,
  image: text,
});

const Running = Reported.extend({
  status: z.literal('running'),
  ...{ publicIp: text, privateIp: text, region: text, zone: text, sshKey: text },
  ssh: z.object({ host: text.min(1), port, user: text.min(1), hostKey: text }),
});

const Other = z.discriminatedUnion('status', [
  Running,
  Reported.extend({ status: z.enum(['creating', 'stopped']) }),
  Reported.extend({ status: z.literal('failed'), message: z.string().max(4_000) }),
]);

/** Empty strings are omitted in the port. */
export const Machine: z.ZodType<ListedMachine> = Other.transform((machine): ListedMachine => {
  const { id, name, uid, group, spec, image } = machine;
  const named = { ...(spec === '' ? {} : { spec }), ...(image === '' ? {} : { image }) };
  const reported = { id, name, uid, group, ...named };
  if (machine.status === 'failed') return { ...reported, status: 'failed', message: machine.message };
  if (machine.status !== 'running') return { ...reported, status: machine.status };
  const { publicIp, privateIp, region, zone, sshKey, ssh } = machine;
  return {
    ...{ ...reported, status: 'running', publicIp, privateIp, region, zone },
    ssh: { ...ssh, hostKey: ssh.hostKey === '' ? null : ssh.hostKey },
    ...(sshKey === '' ? {} : { sshKey }),
  };
});
