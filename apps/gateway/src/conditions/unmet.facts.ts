import { CONTROL_PLANE_POOL } from '@fairlead/contracts';
import { askedAgainAt, missingOf, type Declared } from '@fairlead/domain';
import type { UnmetFacts } from './condition.facts.js';

/** What of a declaration has come to nothing. */
export type UnmetDeclaration = Pick<
  Declared,
  'uid' | 'spec' | 'nodes' | 'requests' | 'replaced' | 'unmet' | 'denied' | 'stopped'
>;

const sizeOf = ({ spec: { controlPlane, pools } }: UnmetDeclaration, pool: string): number =>
  (pool === CONTROL_PLANE_POOL ? controlPlane : pools.find(({ name }) => name === pool))?.replicas ?? 0;

const ofPools = (declared: UnmetDeclaration, now: string): readonly UnmetFacts[] =>
  Object.entries(declared.unmet ?? {}).map(([pool, { cause, since, attempt, ...setback }]) => {
    const missing = missingOf(declared as Declared, pool);
    const name = pool === CONTROL_PLANE_POOL ? 'the control plane' : `pool ${pool}`;
    const what =
      missing === 0
        ? `${name}: machines are being made again`
        : `${name}: ${missing} of ${sizeOf(declared, pool)} declared machines are missing`;
    const at = askedAgainAt({ cause, since, attempt, ...setback });
    return { what, ofNodes: true, cause, since, attempt, nextAttemptAt: missing === 0 || at <= now ? null : at };
  });

const ofLease = ({ denied = {} }: UnmetDeclaration, now: string): readonly UnmetFacts[] =>
  Object.entries(denied).map(([connection, denial]) => {
    const { endsAt, cause, since, attempt } = denial;
    const at = askedAgainAt(denial);
    const what = `lease: connection ${connection} keeps nothing reserved until ${endsAt}`;
    return { what, ofNodes: false, cause, since, attempt, nextAttemptAt: at <= now ? null : at };
  });

const ofRollouts = ({ stopped = {} }: UnmetDeclaration, now: string): readonly UnmetFacts[] =>
  Object.entries(stopped).map(([pool, rollout]) => {
    const { cause, since, attempt, open = false } = rollout;
    const name = pool === CONTROL_PLANE_POOL ? 'the control plane' : `pool ${pool}`;
    const at = askedAgainAt(rollout);
    const what = `${name}: its rollout ${open ? 'continues' : 'has stopped'}`;
    return { what, ofNodes: false, cause, since, attempt, nextAttemptAt: open || at <= now ? null : at };
  });

export const unmetFacts = (declared: UnmetDeclaration, now: string): readonly UnmetFacts[] => [
  ...ofPools(declared, now),
  ...ofRollouts(declared, now),
  ...ofLease(declared, now),
];
