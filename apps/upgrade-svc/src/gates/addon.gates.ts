import { compareVersions, parseVersion } from '@fairlead/contracts';
import { addonProblems } from '../rules/addons.rules.js';
import type { WorkloadView } from '../kubernetes/kubernetes.ports.js';
import type { Gate, GateLook, Verdict } from './gate.js';
import { tagOf, tagsOf } from './images.js';
import { fails, holds } from './verdict.js';

const KUBE_SYSTEM = 'kube-system';

const workloadNamed = async ({ cluster }: GateLook, name: string): Promise<WorkloadView | undefined> =>
  (await cluster.workloads(KUBE_SYSTEM)).find((workload) => workload.name === name);

/** kubeadm upgrades its addons with the last control plane: while one is held back, they keep their version. */
const controlPlanesBehind = async ({ cluster, release }: GateLook): Promise<readonly string[]> =>
  (await cluster.staticPods())
    .filter(({ labels, image }) => labels['component'] === 'kube-apiserver' && tagOf(image) !== release?.version)
    .map(({ node }) => node);

/** A newer one may have been installed manually; a tag that is not a version proves nothing. */
const isOlder = (version: string, desired: string): boolean =>
  parseVersion(version) !== undefined && compareVersions(version, desired) < 0;

interface Expected {
  /** The tag of the target; null: none is expected. */
  readonly version: string | null;
  readonly behind: readonly string[];
}

const expectedOf = async (look: GateLook, image: string): Promise<Expected> => {
  if (look.release === undefined) return { version: null, behind: [] };
  const behind = await controlPlanesBehind(look);
  return { version: behind.length > 0 ? null : (tagsOf(look.release).get(image) ?? null), behind };
};

/** Holds once it has the target's version on every healthy node, and no former pods are left. */
const rolledOut = (
  { name, version, desired, ready, updated, former, observed }: WorkloadView,
  expected: Expected,
  away: number,
): Verdict => {
  const facts = { version, expected: expected.version, controlPlanesBehind: expected.behind, desired, ready, updated };
  if (expected.version !== null && isOlder(version, expected.version))
    return fails(`${name} is at ${version}, and the target brings ${expected.version}`, facts);
  if (!observed) return fails(`Kubernetes has not seen the new ${name} yet`, facts);
  if (updated + away < desired || former > away)
    return fails(`${name} is new in ${updated} of ${desired} pods, and ${former} old pods remain`, facts);
  return ready + away < desired ? fails(`${name} is ready in ${ready} of ${desired} pods`, facts) : holds(facts);
};

/** Its pods on excused, unhealthy nodes, which are not replaced. */
const awayOf = async ({ cluster, excused }: GateLook, { kind, name }: WorkloadView): Promise<number> => {
  const pods = (await Promise.all(excused.map((node) => cluster.podsOn(node)))).flat();
  return pods.filter(
    ({ ready, namespace, controller }) =>
      !ready && namespace === KUBE_SYSTEM && controller?.kind === kind && controller.name === name,
  ).length;
};

export const kubeProxyRolledOut: Gate = async (look) => {
  const proxy = await workloadNamed(look, 'kube-proxy');
  // Some network plugins replace kube-proxy.
  if (proxy === undefined) return holds({ desired: 0 });
  return rolledOut(proxy, await expectedOf(look, 'kube-proxy'), await awayOf(look, proxy));
};

export const dnsRolledOut: Gate = async (look) => {
  const dns = await workloadNamed(look, 'coredns');
  if (dns === undefined) return fails('there is no Deployment coredns in kube-system');
  return rolledOut(dns, await expectedOf(look, 'coredns'), 0);
};

/** As stated by bootstrap-svc, which installs and watches addons. */
export const addonsWhole: Gate = async ({ known }) => {
  const standings = Object.values(known.addons ?? {});
  const problems = addonProblems(standings);
  const facts = { addons: standings.map(({ addon }) => addon.name) };
  return problems.length === 0 ? holds(facts) : fails(problems.join('; '), { ...facts, problems });
};
