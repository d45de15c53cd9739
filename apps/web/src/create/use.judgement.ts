import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import { api, dataOf, Refusal } from '../api.js';
import type { ClusterAt } from '../cluster/cluster.at.js';
import type { Present } from './judge.js';
import { readManifest, type Manifest } from './manifest.text.js';
import type { PlannedStep } from './plan.steps.js';

const MANIFEST = '/ns/{namespace}/clusters/{cluster}/manifest';
const SETTLE_MS = 350;

/** Something that is wrong, whoever found it. */
export interface Fault {
  readonly code: string;
  readonly field: string | undefined;
  readonly message: string;
  readonly help: string;
}

export interface Verdict {
  /** Why the text is no manifest. */
  readonly unreadable: string | undefined;
  readonly faults: readonly Fault[];
  readonly plan: readonly PlannedStep[] | undefined;
  readonly warnings: readonly string[];
  /** Who may connect to its Kubernetes API, in words; undefined: not known. */
  readonly access: string | undefined;
  /** Who has judged it; undefined: it is not judged yet. */
  readonly by: 'browser' | 'gateway' | undefined;
  /** How long the browser took. */
  readonly tookMs: number | undefined;
  /** Why the browser left it to the gateway. */
  readonly left: string | undefined;
  /** The failure of the gateway that is no verdict. */
  readonly error: Error | null;
  readonly isChecking: boolean;
  /** The gateway has accepted exactly this text, and something would be done. */
  readonly mayApply: boolean;
}

const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return useDeferredValue(settled);
};

/** The rules themselves; loaded with the views that judge by them. */
export const useJudge = () =>
  useQuery({ queryKey: ['code', 'judge'], queryFn: () => import('./judge.js'), staleTime: Number.POSITIVE_INFINITY });

interface Judged {
  readonly faults: readonly Fault[];
  readonly plan: readonly PlannedStep[] | undefined;
  readonly access: string | undefined;
  readonly left: string | undefined;
  readonly tookMs: number;
}

const useOwnJudgement = (manifest: Manifest | undefined, at: ClusterAt, present: Present | undefined) => {
  const { data: rules } = useJudge();
  const deferred = useDeferredValue(manifest);
  return useMemo((): Judged | undefined => {
    if (rules === undefined || deferred === undefined) return undefined;
    const startedMs = performance.now();
    const { faults, plan, access, left } = rules.judge(deferred, { ...at, now: new Date().toISOString(), present });
    return {
      faults: faults.map(({ code, field, message, help = '' }) => ({ code, field, message, help })),
      plan,
      access,
      left,
      tookMs: performance.now() - startedMs,
    };
  }, [rules, deferred, at.namespace, at.cluster, present]);
};

const faultsIn = (error: Error | null): readonly Fault[] | undefined =>
  error instanceof Refusal && error.view.errors.length > 0
    ? error.view.errors.map(({ reason, field, message, help }) => ({ code: reason, field, message, help }))
    : undefined;

/** Judged at once by the rules in this browser, and then by the gateway, which knows more and has the last word. */
export const useVerdict = (text: string, at: ClusterAt, present: Present | undefined): Verdict => {
  const settled = useSettled(text);
  const { manifest, fault: unreadable } = useMemo(() => readManifest(text), [text]);
  const own = useOwnJudgement(manifest, at, present);
  const isSettled = settled === text;
  const gateway = useQuery({
    queryKey: ['plan', at, settled],
    // What the browser refuses by the same rules, the gateway need not be asked.
    enabled: isSettled && manifest !== undefined && at.cluster !== '' && own !== undefined && own.faults.length === 0,
    queryFn: () =>
      dataOf(api.PUT(MANIFEST, { params: { path: at, query: { dryRun: 'All' } }, body: manifest as Manifest })),
    retry: false,
  });
  const refused = isSettled ? faultsIn(gateway.error) : undefined;
  const isAnswered = isSettled && own?.faults.length === 0 && (gateway.data !== undefined || refused !== undefined);
  const plan = isAnswered ? gateway.data?.plan : own?.plan;
  const faults = isAnswered ? (refused ?? []) : (own?.faults ?? []);
  return {
    ...{ unreadable, faults, plan: unreadable === undefined && faults.length === 0 ? plan : undefined },
    warnings: (isAnswered ? gateway.data?.warnings : undefined) ?? [],
    by: isAnswered ? 'gateway' : own === undefined ? undefined : 'browser',
    ...{ access: own?.access, tookMs: own?.tookMs, left: own?.left },
    error: refused === undefined && isSettled ? gateway.error : null,
    isChecking: !isSettled || gateway.isFetching,
    mayApply: isAnswered && faults.length === 0 && (gateway.data?.plan ?? []).length > 0,
  };
};
