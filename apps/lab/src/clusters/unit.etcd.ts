import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { etcdReportedBy } from '../kubernetes/index.js';
import type { HostFiles } from '../files/host.files.js';
import { splitCommandLine } from '../services/unit.file.js';
import type { Host } from '../hosts/host.js';

const { unit: UNIT, programs } = EXTERNAL_ETCD;

/** The flags in the unit of an etcd member that other code depends on. */
export interface UnitEtcdMember {
  readonly name: string;
  readonly token: string;
  /** For example `3.6.5`. */
  readonly version: string;
  /** Peer URLs of the initial members, by name. */
  readonly initialCluster: ReadonlyMap<string, string>;
}

/** The image from which its programs were copied. */
const IMAGE = `${programs}/image`;
const UNIT_FILE = `/etc/systemd/system/${UNIT}`;

export const runsUnitEtcd = (files: HostFiles): Promise<boolean> => files.exists(UNIT_FILE);

/** The etcd member of the host's unit and whether it runs, or undefined if there is no such unit. */
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
