import { minorsAhead } from '@fairlead/contracts';
import { skewFindings } from '../src/rules/skew.rules.js';
import { type Model, nodesOf, versionsOf } from './model.js';
import { isExtra } from './model.surge.js';

const majority = (n: number): number => Math.floor(n / 2) + 1;

/** G5: a worker runs no version that is newer than the one an API server emulates. */
const aheadOfEmulation = (model: Model): readonly string[] => {
  const emulated = nodesOf(model).flatMap(({ components }) => components?.emulates ?? []);
  return nodesOf(model)
    .filter(
      ({ role, software }) =>
        role === 'worker' && emulated.some((as) => minorsAhead(as, software['kubelet'] ?? as) > 0),
    )
    .map(({ name }) => `G5: ${name} is ahead of an API server that behaves as ${emulated.join()}`);
};

/** Violations of the invariants. `atOnce`: how many workers fewer than requested are allowed. */
export const violations = (model: Model, atOnce: number): readonly string[] => {
  const nodes = nodesOf(model);
  const controlPlanes = nodes.filter(({ role }) => role === 'control-plane');
  const alive = controlPlanes.filter(({ memberHealthy }) => memberHealthy).length;
  const workers = nodes.filter(({ role }) => role === 'worker');
  const away = workers.filter(({ cordoned, ready }) => cordoned || !ready);
  const requested = workers.filter(({ name }) => !isExtra(model, name)).length;
  const there = workers.length - away.length;
  const awayControlPlanes = controlPlanes.filter(({ cordoned, ready }) => cordoned || !ready);
  const staging = controlPlanes.filter(
    // A node that cannot stage does not block others.
    ({ name, desired: { stage }, stagesDone }) =>
      stage !== null && !stagesDone.includes(stage.id) && model.fails[name]?.at !== 'stage',
  );
  const versions = new Set(model.applied.map(([version]) => version));
  return [
    ...skewFindings(versionsOf(model)).map(({ rule, sentence }) => `${rule}: ${sentence}`),
    ...(controlPlanes.length > 1 && alive < majority(controlPlanes.length)
      ? [`quorum: ${alive} members are alive`]
      : []),
    ...(there < requested - atOnce ? [`budget: ${away.map(({ name }) => name).join(', ')} are away`] : []),
    ...(awayControlPlanes.length > 1 ? ['two control planes are away'] : []),
    ...(staging.length > 1 ? ['two control planes stage at the same time'] : []),
    ...(versions.size < new Set(model.applied.map(([version, node]) => `${version}/${node}`)).size
      ? ['kubeadm upgrade apply ran on two nodes']
      : []),
    ...aheadOfEmulation(model),
    ...model.harm,
  ];
};
