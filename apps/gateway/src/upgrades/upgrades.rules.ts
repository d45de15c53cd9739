import {
  faultOfGateUrl,
  gateJobOf,
  isUpgradeRule,
  KubernetesVersion,
  refuse,
  UPGRADE_RULES,
  DesiredSoftware,
  withV,
  type Refusal,
  type UpgradeRequest,
  type UpgradeStrategy,
  type UpgradeTarget,
} from '@fairlead/contracts';

/** What can be wrong about a request by itself. What only the cluster shows is checked by upgrade-svc. */

const KUBERNETES_PACKAGES: readonly string[] = ['kubeadm', 'kubelet', 'kubectl'];

const when = (wrong: boolean, refusal: () => Refusal): readonly Refusal[] => (wrong ? [refusal()] : []);

const target = ({ version, software, renewCertificates, reboot }: UpgradeRequest): readonly Refusal[] =>
  when(version === undefined && Object.keys(software ?? {}).length === 0 && !renewCertificates && !reboot, () =>
    refuse('upgrade.no-changes'),
  );

const version = ({ version: asked }: UpgradeRequest): readonly Refusal[] =>
  when(asked !== undefined && !KubernetesVersion.safeParse(withV(asked)).success, () =>
    refuse('upgrade.version-invalid', { version: asked ?? '' }, 'version'),
  );

const software = (request: UpgradeRequest): readonly Refusal[] =>
  Object.entries(request.software ?? {}).flatMap(([name, desired]) =>
    when(!DesiredSoftware.safeParse({ [name]: desired }).success || KUBERNETES_PACKAGES.includes(name), () =>
      refuse('upgrade.software-invalid', { name, version: desired }, `software.${name}`),
    ),
  );

const hasTargets = ({ controlPlane, pools }: UpgradeRequest): readonly Refusal[] =>
  when(!controlPlane && pools?.length === 0, () => refuse('upgrade.no-targets', {}, 'controlPlane'));

const unbounded = ({ onDrainTimeout, forceUntil }: UpgradeStrategy['workers'], field: string): readonly Refusal[] =>
  when(onDrainTimeout === 'force' && forceUntil === undefined, () => refuse('upgrade.force-unbounded', {}, field));

const force = ({ strategy }: UpgradeRequest): readonly Refusal[] => [
  ...unbounded(strategy.workers, 'strategy.workers.forceUntil'),
  ...Object.entries(strategy.pools).flatMap(([pool, own]) => unbounded(own, `strategy.pools.${pool}.forceUntil`)),
];

/** Which addresses a gate may have is upgrade-svc's to say: only there the name is resolved. */
const gateUrls = ({ strategy }: UpgradeRequest): readonly Refusal[] =>
  strategy.gates.flatMap((gate, index) => {
    const why = gate.kind === 'http' ? faultOfGateUrl(gate.url) : undefined;
    if (why === undefined) return [];
    return [refuse('upgrade.gate-url', { gate: gate.name, why }, `strategy.gates[${index}].url`)];
  });

const gateJobs = ({ strategy }: UpgradeRequest): readonly Refusal[] =>
  strategy.gates.flatMap((gate, index) => {
    const checked = gate.kind === 'job' ? gateJobOf(gate.manifest) : undefined;
    if (checked === undefined || 'job' in checked) return [];
    return [
      refuse('upgrade.gate-manifest', { gate: gate.name, why: checked.why }, `strategy.gates[${index}].manifest`),
    ];
  });

const OVERRIDABLE = Object.entries(UPGRADE_RULES).flatMap(([rule, { overridable }]) => (overridable ? [rule] : []));

const ruleFaults = (rule: string, field: string): readonly Refusal[] => {
  if (!isUpgradeRule(rule)) return [refuse('upgrade.rule-unknown', { rule }, field)];
  const { title, overridable } = UPGRADE_RULES[rule];
  return when(!overridable, () =>
    refuse('upgrade.rule-not-overridable', { rule, title, overridable: OVERRIDABLE.join(', ') }, field),
  );
};

/** What is wrong about overriding a rule; `at` is where the override stands, with a dot after it, or empty. */
export const faultsOfOverride = (
  { rule, reason }: UpgradeRequest['overrides'][number],
  at = '',
): readonly Refusal[] => [
  ...ruleFaults(rule, `${at}rule`),
  ...when(reason.trim() === '', () => refuse('upgrade.reason-missing', {}, `${at}reason`)),
];

const overrides = (request: UpgradeRequest): readonly Refusal[] =>
  request.overrides.flatMap((one, index) => faultsOfOverride(one, `overrides[${index}].`));

/** Everything that is wrong with the request. */
export const faultsOfUpgrade = (request: UpgradeRequest): readonly Refusal[] =>
  [target, version, software, hasTargets, force, gateUrls, gateJobs, overrides].flatMap((rule) => rule(request));

/** The strategy of a request without faults: the Jobs of its gates are objects. */
export const toUpgradeStrategy = ({ strategy }: UpgradeRequest): UpgradeStrategy => ({
  ...strategy,
  gates: strategy.gates.map((gate) => {
    if (gate.kind === 'http') return gate;
    const checked = gateJobOf(gate.manifest);
    if ('why' in checked) throw new Error(`the gate ${gate.name} was not checked: ${checked.why}`);
    return { ...gate, manifest: checked.job };
  }),
});

/** The target of a request without faults. */
export const toUpgradeTarget = (request: UpgradeRequest): UpgradeTarget => ({
  ...(request.version === undefined ? {} : { kubernetes: withV(request.version) as KubernetesVersion }),
  ...(Object.keys(request.software ?? {}).length === 0 ? {} : { software: request.software }),
  renewCertificates: request.renewCertificates,
  reboot: request.reboot,
});
