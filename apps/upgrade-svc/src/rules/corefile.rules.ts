import { compareVersions, releaseOf, type Finding, type KubernetesRelease } from '@fairlead/contracts';
import { COREFILE_PLUGINS } from './corefile.plugins.js';
import { finding, when } from './finding.js';

/** A real Corefile has fewer lines. */
const LINES_MAX = 10_000;
const NAMED_MAX = 20;

interface Directive {
  /** 1: a plugin of a server block; 2: an option of a plugin. */
  readonly depth: number;
  readonly name: string;
}

/** The first word of each line in server blocks, parsed like kubeadm's library does. */
const directivesIn = (corefile: string): readonly Directive[] => {
  let depth = 0;
  return corefile.split('\n', LINES_MAX).flatMap((line): readonly Directive[] => {
    const words = line
      .replace(/(^|\s)#.*$/, '')
      .split(/\s+/)
      .filter((word) => word !== '');
    const found = { depth, name: words[0] ?? '' };
    for (const word of words) {
      if (word === '{') depth += 1;
      if (word === '}') depth = Math.max(0, depth - 1);
    }
    return found.depth === 0 || ['', '{', '}'].includes(found.name) ? [] : [found];
  });
};

const entryOf = (plugin: string, coredns: string) =>
  Object.hasOwn(COREFILE_PLUGINS, plugin)
    ? COREFILE_PLUGINS[plugin]?.findLast(({ since }) => compareVersions(since, coredns) <= 0)
    : undefined;

/** Plugins and options unknown to kubeadm for this version of CoreDNS, such as `k8s_gateway` and `hedge of forward`. */
export const unsupportedIn = (corefile: string, coredns: string): readonly string[] => {
  let plugin = '';
  const unsupported = directivesIn(corefile).flatMap(({ depth, name }) => {
    if (depth === 1) plugin = name;
    const entry = entryOf(plugin, coredns);
    if (depth === 1) return entry === undefined ? [name] : [];
    if (depth !== 2 || entry === undefined) return [];
    const isKnown = entry.options.includes(name) || entry.patterns.some((pattern) => new RegExp(pattern).test(name));
    return isKnown ? [] : [`${name} of ${plugin}`];
  });
  return [...new Set(unsupported)].slice(0, NAMED_MAX);
};

/** B12: if the path changes CoreDNS, kubeadm knows every plugin of the Corefile. */
export const b12Corefile = (
  corefile: string | null,
  path: readonly string[],
  releases?: readonly KubernetesRelease[],
): readonly Finding[] => {
  const coredns = path.map((version) => releaseOf(version, releases)?.coredns);
  const to = coredns.at(-1)?.replace(/^v/, '');
  if (corefile === null || to === undefined || coredns.every((version) => version === coredns[0])) return [];
  const unsupported = unsupportedIn(corefile, to);
  return when(unsupported.length > 0, () => finding('B12.corefile', { coredns: to, unsupported }));
};
