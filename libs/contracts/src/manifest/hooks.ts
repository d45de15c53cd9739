import * as z from 'zod';
import { Duration, durationMs } from '../durations.js';
import { faultOfGateUrl } from '../gate.urls.js';
import { HOOK_POINTS } from '../hook.points.js';
import { PoolName } from '../ids.js';
import { refuse, type Refusal } from '../refusals.js';

const HOOKS_MAX = 10;
const URL_LENGTH_MAX = 2_000;
const CA_LENGTH_MAX = 16_384;
const TIMEOUT_MAX = '30s';
export const HOOK_TIMEOUT_DEFAULT = '10s';

export const HOOK_POLICIES = ['Fail', 'Ignore'] as const;

/** An HTTP endpoint that is called before or after steps of a cluster's lifecycle. */
export const Hook = z
  .strictObject({
    name: PoolName.describe('A DNS label, unique in the cluster'),
    points: z
      .array(z.enum(HOOK_POINTS))
      .min(1)
      .max(HOOK_POINTS.length)
      .describe('Before points wait for the answer; after points do not'),
    url: z.string().max(URL_LENGTH_MAX).describe('Asked by POST; its addresses must be public, or allowed'),
    caBundle: z
      .string()
      .max(CA_LENGTH_MAX)
      .optional()
      .describe('Authorities of its certificate, PEM. Left out: those that Node.js trusts'),
    secretName: PoolName.optional().describe(
      'The hook secret of the namespace that requests are signed with. Left out: they are not signed',
    ),
    timeout: Duration.optional().describe(
      `How long it may take to answer, at most ${TIMEOUT_MAX}. Left out: ${HOOK_TIMEOUT_DEFAULT}`,
    ),
    failurePolicy: z
      .enum(HOOK_POLICIES)
      .optional()
      .describe(
        'Of a hook that fails or does not answer. Fail: it is asked again, and the step waits; Ignore: the step goes on. Left out: Fail',
      ),
  })
  .meta({ id: 'Hook', description: 'What is asked by HTTP before or after steps of the life of the cluster' });
export type Hook = z.infer<typeof Hook>;

export const Hooks = z.array(Hook).max(HOOKS_MAX);

export const hookTimeoutMs = ({ timeout = HOOK_TIMEOUT_DEFAULT }: Pick<Hook, 'timeout'>): number => durationMs(timeout);

export const hookFaults = (hooks: readonly Hook[], path = 'spec.hooks'): readonly Refusal[] =>
  hooks.flatMap(({ name: hook, url, ...one }, at) => {
    const fault = faultOfGateUrl(url);
    return [
      ...(hooks.findIndex(({ name }) => name === hook) < at
        ? [refuse('hook.name-taken', { hook }, `${path}[${at}].name`)]
        : []),
      ...(fault === undefined ? [] : [refuse('hook.url-invalid', { hook, reason: fault }, `${path}[${at}].url`)]),
      ...(hookTimeoutMs(one) > durationMs(TIMEOUT_MAX)
        ? [refuse('hook.timeout', { hook, max: TIMEOUT_MAX }, `${path}[${at}].timeout`)]
        : []),
    ];
  });
