import { type Finding, type KubernetesRelease, minorsAhead, type NodeName, releaseOf } from '@fairlead/contracts';
import type { ClusterFacts, Component, ComponentSettings, NodeFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';
import { LOCKED_GATES, REMOVED_ADMISSION_PLUGINS, REMOVED_FLAGS, REMOVED_GATES } from './removed.settings.js';

/** etcd removed the flags with this prefix in this etcd minor. */
const ETCD_EXPERIMENTAL = { prefix: 'experimental-', removedIn: '3.7' };
/** kubeadm sets these itself, in the form of the target if etcd is upgraded. */
const KUBEADM_ETCD = ['experimental-initial-corrupt-check', 'experimental-watch-progress-notify-interval'];
const PLUGIN_FLAGS = ['enable-admission-plugins', 'disable-admission-plugins'];

interface Flag {
  readonly name: string;
  readonly value: string;
}

/** Parses the flags of a command line. `--flag value` counts as a flag without a value. */
export const flagsIn = (args: readonly string[]): readonly Flag[] =>
  args.flatMap((arg) => {
    const [, name, value = ''] = /^--?([A-Za-z][\w.-]*)(?:=([\s\S]*))?$/.exec(arg) ?? [];
    return name === undefined ? [] : [{ name, value }];
  });

const staticPodsOf = (nodes: readonly NodeFacts[]): readonly ComponentSettings[] =>
  nodes.flatMap(({ name, staticPods }) =>
    staticPods.map(({ component, args }) => ({ component, where: `static pod ${component}-${name}`, args })),
  );

const kubeletsOf = (nodes: readonly NodeFacts[]): readonly ComponentSettings[] =>
  nodes.flatMap(({ name, kubeletSettings }) =>
    kubeletSettings === null
      ? []
      : [
          {
            component: 'kubelet' as const,
            where: `KUBELET_EXTRA_ARGS or a patch of kubeadm on ${name}`,
            args: [
              ...kubeletSettings.flags.map((flag) => `--${flag}`),
              ...Object.entries(kubeletSettings.gates).map(([gate, value]) => `--feature-gates=${gate}=${value}`),
            ],
          },
        ],
  );

/** The settings of every component, from all places. */
const allSettings = ({ nodes, settings }: ClusterFacts): readonly ComponentSettings[] => [
  ...staticPodsOf(nodes),
  ...settings,
  ...kubeletsOf(nodes),
];

const gone = (removedIn: string | undefined, target: string): removedIn is string =>
  removedIn !== undefined && minorsAhead(removedIn, target) >= 0;

/** A setting in one place that the target does not accept; its code and name merge several places into one finding. */
interface Fault {
  readonly code: 'B5.flag' | 'B5.gate' | 'B5.locked-gate' | 'B5.admission-plugin';
  readonly component: Component;
  readonly name: string;
  readonly since: string;
  readonly value: string;
}

const flagFault = (
  component: Component,
  { name }: Flag,
  { target, etcd }: { readonly target: string; readonly etcd: string | undefined },
): readonly Fault[] => {
  const fault = (since: string): readonly Fault[] => [{ code: 'B5.flag', component, name, since, value: '' }];
  if (component === 'etcd') {
    const isExperimental = name.startsWith(ETCD_EXPERIMENTAL.prefix) && !KUBEADM_ETCD.includes(name);
    return isExperimental && etcd !== undefined && gone(ETCD_EXPERIMENTAL.removedIn, etcd)
      ? fault(`etcd ${ETCD_EXPERIMENTAL.removedIn}`)
      : [];
  }
  const since = REMOVED_FLAGS[component]?.[name];
  return gone(since, target) ? fault(since) : [];
};

const gateFaults = (component: Component, flag: Flag, target: string): readonly Fault[] =>
  component === 'etcd' || flag.name !== 'feature-gates'
    ? []
    : flag.value.split(',').flatMap((pair): readonly Fault[] => {
        const [name = '', value = ''] = pair.split('=').map((word) => word.trim().replace(/^.*:/, ''));
        const since = Object.hasOwn(REMOVED_GATES, name) ? REMOVED_GATES[name] : undefined;
        if (gone(since, target)) return [{ code: 'B5.gate', component, name, since, value }];
        const locked = Object.hasOwn(LOCKED_GATES, name) ? LOCKED_GATES[name] : undefined;
        return locked !== undefined && gone(locked.since, target) && value.toLowerCase() !== String(locked.value)
          ? [{ code: 'B5.locked-gate', component, name, since: locked.since, value: String(locked.value) }]
          : [];
      });

const pluginFaults = (component: Component, { name, value }: Flag, target: string): readonly Fault[] =>
  component !== 'kube-apiserver' || !PLUGIN_FLAGS.includes(name)
    ? []
    : value.split(',').flatMap((plugin): readonly Fault[] => {
        const since = Object.hasOwn(REMOVED_ADMISSION_PLUGINS, plugin) ? REMOVED_ADMISSION_PLUGINS[plugin] : undefined;
        return gone(since, target)
          ? [{ code: 'B5.admission-plugin', component, name: plugin, since, value: name }]
          : [];
      });

const findingOf = ({ code, component, name, since, value }: Fault, places: readonly string[]): Finding => {
  const common = { component, places };
  const where = places.join(', ');
  switch (code) {
    case 'B5.flag':
      return finding(code, { ...common, flag: `--${name}`, removedIn: since }, { where });
    case 'B5.gate':
      return finding(code, { ...common, gate: name, removedIn: since }, { where });
    case 'B5.locked-gate':
      return finding(code, { ...common, gate: name, lockedIn: since, value }, { where });
    case 'B5.admission-plugin':
      return finding(code, { ...common, plugin: name, removedIn: since }, { where });
  }
};

/** B5: no component is started with a flag, feature gate or admission plugin that the target no longer accepts. */
export const b5RemovedSettings = (
  facts: ClusterFacts,
  target: string,
  releases?: readonly KubernetesRelease[],
): readonly Finding[] => {
  const etcd = releaseOf(target, releases)?.etcd;
  const found = new Map<string, { readonly fault: Fault; readonly places: Set<string> }>();
  for (const { component, where, args } of allSettings(facts))
    for (const flag of flagsIn(args))
      for (const fault of [
        ...flagFault(component, flag, { target, etcd }),
        ...gateFaults(component, flag, target),
        ...pluginFaults(component, flag, target),
      ]) {
        const key = `${fault.code}/${component}/${fault.name}`;
        const known = found.get(key) ?? { fault, places: new Set<string>() };
        known.places.add(where);
        found.set(key, known);
      }
  return [...found.values()].map(({ fault, places }) => findingOf(fault, [...places]));
};

/** The first minor whose kubelets fail on cgroup v1 by default (KEP 5573). */
const CGROUP_V1_FAILS_SINCE = '1.35';

/** B5: no host of a kubelet that is upgraded has cgroup v1 once kubelets no longer start there. */
export const b5CgroupV1 = (
  { nodes }: ClusterFacts,
  target: string,
  changed: readonly NodeName[],
): readonly Finding[] => {
  if (!gone(CGROUP_V1_FAILS_SINCE, target)) return [];
  const failing = nodes.filter(({ name, cgroupV1 }) => cgroupV1 === 'fails' && changed.includes(name));
  return when(failing.length > 0, () =>
    finding('B5.cgroup-v1', { nodes: failing.map(({ name }) => name), removedIn: `v${CGROUP_V1_FAILS_SINCE}` }),
  );
};
