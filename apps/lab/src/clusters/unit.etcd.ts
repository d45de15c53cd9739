import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { etcdReportedBy } from '../kubernetes/index.js';
import type { HostFiles } from '../files/host.files.js';
import { splitCommandLine } from '../services/unit.file.js';
import type { Host } from '../hosts/host.js';

const { unit: UNIT, programs } = EXTERNAL_ETCD;

/** The flags in the unit of an etcd member that others depend on. */
export interface UnitEtcdMember {
  readonly name: string;
  readonly token: string;
  /** `3.6.5` */
  readonly version: string;
  /** Peer URLs by the names of all that the etcd begins with. */
  readonly initialCluster: ReadonlyMap<string, string>;
}

/** The image that its programs were copied out of. */
const IMAGE = `${programs}/image`;
const UNIT_FILE = `/etc/systemd/system/${UNIT}`;

export const runsUnitEtcd = (files: HostFiles): Promise<boolean> => files.exists(UNIT_FILE);

/** The member that the host's unit makes, and whether it runs now; undefined: there is no such unit. */
export const unitEtcdOn = async (host: Host): Promise<(UnitEtcdMember & { readonly running: boolean }) | undefined> => {
  const file = await host.services.read(UNIT);
  if (file === undefined) return undefined;
  const flags = new Map(
    splitCommandLine(file.execStart).flatMap((word) => {
      const [, name, value] = /^--([a-z-]+)=(.*)$/.exec(word) ?? [];
      return name === undefined || value === undefined ? [] : [[name, value] as const];
    }),
  );
  const members = (flags.get('initial-cluster') ?? '').split(',').map((pair): readonly [string, string] => {
    const [name = '', ...url] = pair.split('=');
    return [name, url.join('=')];
  });
  const running = host.power === 'on' && (await host.services.activeState(UNIT)) === 'active';
  return {
    name: flags.get('name') ?? '',
    version: etcdReportedBy((await host.files.readText(IMAGE)) ?? ''),
    token: flags.get('initial-cluster-token') ?? '',
    initialCluster: new Map(members),
    running,
  };
};
