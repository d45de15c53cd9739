import type { CgroupV1, KubeletSettings } from '@fairlead/contracts';
import { ParseFailure, parseKubeletConfiguration, type KubeletConfiguration } from '@fairlead/parsers';
import type { HostPort } from '../node/host.ports.js';

/** Read by the kubelet's unit: extra command line arguments of operators. */
const EXTRA_ARGS = '/etc/default/kubelet';
/** The folder to which a join writes node-specific patches for kubeadm. */
export const KUBELET_PATCHES_FOLDER = '/etc/fairlead/kubeadm-patches';
export const KUBELET_PATCH_NAME = 'kubeletconfiguration0+merge.yaml';
export const KUBELET_PATCH = `${KUBELET_PATCHES_FOLDER}/${KUBELET_PATCH_NAME}`;
const CONFIG = '/var/lib/kubelet/config.yaml';
const TEXT_LENGTH_MAX = 256 * 1_024;
const SETTINGS_MAX = 100;
const NAME_LENGTH_MAX = 100;

type Gates = Readonly<Record<string, boolean>>;

const ASSIGNED = /^\s*(?:export\s+)?KUBELET_EXTRA_ARGS=(.*)$/;

/** The last line counts, as in systemd. */
const extraArgsIn = (environment: string): readonly string[] => {
  const [, value = ''] =
    environment
      .slice(0, TEXT_LENGTH_MAX)
      .replaceAll('\\\n', ' ')
      .split('\n')
      .map((line) => ASSIGNED.exec(line))
      .findLast((match) => match !== null) ?? [];
  return value.split(/[\s"']+/).filter((word) => word !== '');
};

/** Parses `A=true,B=false`; other values are ignored. */
const gatesInFlag = (value: string): Gates =>
  Object.fromEntries(
    value.split(',').flatMap((pair) => {
      const [, gate = '', on] = /^\s*([\w:]+)=(true|false)\s*$/i.exec(pair) ?? [];
      return gate === '' ? [] : [[gate, on?.toLowerCase() === 'true'] as const];
    }),
  );

type Fields = Readonly<Record<string, string>>;

const EMPTY: KubeletConfiguration = { featureGates: {}, fields: {} };

/** An unreadable configuration sets nothing. */
const configurationIn = (text: string | undefined): KubeletConfiguration => {
  if (text === undefined) return EMPTY;
  try {
    return parseKubeletConfiguration(text, { lengthMax: TEXT_LENGTH_MAX });
  } catch (error) {
    if (error instanceof ParseFailure) return EMPTY;
    throw error;
  }
};

/** kubeadm applies its patches again, so a field with the value of a patch is unchanged by an upgrade. */
const withoutPatched = (fields: Fields, patched: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([field, digest]) => patched[field] !== digest));

const bounded = (gates: Gates): Record<string, boolean> =>
  Object.fromEntries(
    Object.entries(gates)
      .filter(([gate]) => gate.length <= NAME_LENGTH_MAX)
      .slice(0, SETTINGS_MAX),
  );

/** The texts of the three files; undefined if a file does not exist. */
export interface KubeletFiles {
  readonly extraArgs: string | undefined;
  readonly patch: string | undefined;
  readonly config: string | undefined;
}

/** The settings of the kubelet on this node; undefined: none. Only the values of feature gates leave the node. */
export const kubeletSettingsIn = ({ extraArgs, patch, config }: KubeletFiles): KubeletSettings | undefined => {
  const words = extraArgsIn(extraArgs ?? '');
  const flags = words.flatMap((word, at) => {
    const [, name, value = words[at + 1] ?? ''] = /^--?([A-Za-z][\w.-]*)(?:=(.*))?$/.exec(word) ?? [];
    return name === undefined || name.length > NAME_LENGTH_MAX ? [] : [{ name, value }];
  });
  const inFlags = flags.filter(({ name }) => name === 'feature-gates').map(({ value }) => gatesInFlag(value));
  const patched = configurationIn(patch);
  const configured = configurationIn(config);
  const fields = withoutPatched(configured.fields, patched.fields);
  const settings: KubeletSettings = {
    flags: [...new Set(flags.map(({ name }) => name))]
      .filter((name) => name !== 'feature-gates')
      .slice(0, SETTINGS_MAX),
    gates: bounded(Object.assign({}, patched.featureGates, ...inFlags)),
    config: bounded(configured.featureGates),
    fields,
  };
  const { flags: names, gates, config: ownGates } = settings;
  const isEmpty = [names, gates, ownGates, fields].every((set) => Object.keys(set).length === 0);
  return isEmpty ? undefined : settings;
};

/** Reads the settings that operators and joins made for the kubelet of this host. */
export const kubeletSettingsOn = async (host: Pick<HostPort, 'readFile'>): Promise<KubeletSettings | undefined> => {
  const [extraArgs, patch, config] = await Promise.all(
    [EXTRA_ARGS, KUBELET_PATCH, CONFIG].map((path) => host.readFile(path)),
  );
  return kubeletSettingsIn({ extraArgs, patch, config });
};

const MOUNTS = '/proc/self/mounts';
const CGROUP_MOUNT = /^\S+ \/sys\/fs\/cgroup (\S+) /;
const ALLOWED = /^ *"?failCgroupV1"?: *false *,?$/m;

/**
 * Undefined on cgroup v2. A kubelet looks at one mount alone: a hybrid hierarchy, with cgroup2 below a tmpfs, is v1 to
 * it. Its configuration is what kubeadm writes again from that of the cluster and the patch of the node.
 */
export const cgroupV1On = async (host: Pick<HostPort, 'readFile'>): Promise<CgroupV1 | undefined> => {
  const mounts = (await host.readFile(MOUNTS)) ?? '';
  const [, type = 'cgroup2'] =
    mounts
      .split('\n')
      .map((line) => CGROUP_MOUNT.exec(line))
      .findLast((match) => match !== null) ?? [];
  if (type === 'cgroup2') return undefined;
  return ALLOWED.test((await host.readFile(CONFIG)) ?? '') ? 'runs' : 'fails';
};
