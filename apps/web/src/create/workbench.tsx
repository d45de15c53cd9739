import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useState } from 'react';
import { api, dataOf } from '../api.js';
import { Button, clusterPath, Failure, go, Icon, Loading, Panel } from '../ui/ui.js';
import type { Present } from './judge.js';
import { nameIn, readManifest, spanIn, valueAt, withValue, type Manifest, type Path } from './manifest.text.js';
import { PlanSteps } from './plan.steps.js';
import { SchemaForm, type FormContext } from './schema.form.js';
import { useJudge, useVerdict, type Fault, type Verdict } from './use.judgement.js';

const YamlEditor = lazy(() => import('./yaml.editor.js'));
const MANIFEST = '/ns/{namespace}/clusters/{cluster}/manifest';

/** The manifest as a form and as text, each following the other, and beside them what it would do. */
export const Workbench = ({
  namespace,
  cluster,
  text: first,
  button,
  present,
}: {
  readonly namespace: string;
  readonly cluster?: string;
  readonly text: string;
  readonly button: string;
  readonly present?: Present;
}) => {
  const queries = useQueryClient();
  const [text, setText] = useState(first);
  const read = useMemo(() => readManifest(text), [text]);
  const at = useMemo(() => ({ namespace, cluster: cluster ?? nameIn(read) }), [namespace, cluster, read]);
  const verdict = useVerdict(text, at, present);
  const apply = useMutation({
    mutationFn: () => dataOf(api.PUT(MANIFEST, { params: { path: at }, body: read.manifest as Manifest })),
    onSuccess: async () => {
      await queries.invalidateQueries();
      go(clusterPath(at.namespace, at.cluster));
    },
  });
  const remarks = useMemo(
    () => verdict.faults.map(({ field = '', message }) => ({ ...spanIn(text, field), message })),
    [text, verdict.faults],
  );
  return (
    <div className="bench">
      <Panel title="Form">
        <ManifestForm manifest={read.manifest} text={text} faults={verdict.faults} onChange={setText} />
      </Panel>
      <Panel title="Manifest" side={<span className="dim">YAML</span>}>
        <Suspense fallback={<Loading what="the editor" />}>
          <YamlEditor text={text} remarks={remarks} onChange={setText} />
        </Suspense>
      </Panel>
      <div className="bench-plan">
        <Consequences verdict={verdict} />
        <Failure error={apply.error} />
        <div className="buttons">
          <Button look="primary" disabled={!verdict.mayApply || apply.isPending} onClick={() => apply.mutate()}>
            {apply.isPending ? 'Sending …' : button}
          </Button>
          <span className="dim">
            {namespace}/{at.cluster === '' ? '…' : at.cluster}
          </span>
        </div>
      </div>
    </div>
  );
};

const useOffers = (manifest: unknown): FormContext['offersOf'] => {
  const connections = useQuery({
    queryKey: ['connections'],
    queryFn: () => dataOf(api.GET('/connections', { params: { query: {} } })),
  });
  const versions = useQuery({ queryKey: ['version'], queryFn: () => dataOf(api.GET('/version')) });
  const first: unknown = valueAt(manifest, ['spec', 'controlPlane', 'connection']);
  const connection = typeof first === 'string' ? first : '';
  const specs = useQuery({
    queryKey: ['specs', connection],
    enabled: connections.data?.items.some(({ name }) => name === connection) ?? false,
    queryFn: () =>
      dataOf(api.GET('/mcir/connections/{connection}/specs', { params: { path: { connection }, query: {} } })),
    retry: false,
  });
  return (path) => {
    const field = path.at(-1);
    if (field === 'connection') return (connections.data?.items ?? []).map(({ name }) => name);
    if (field === 'machineType') return (specs.data?.items ?? []).map(({ name }) => name);
    return field === 'version' && path.length === 2 ? (versions.data?.kubernetes.known ?? []) : [];
  };
};

const ManifestForm = ({
  manifest,
  text,
  faults,
  onChange,
}: {
  readonly manifest: Manifest | undefined;
  readonly text: string;
  readonly faults: readonly Fault[];
  readonly onChange: (text: string) => void;
}) => {
  const { data: rules, error } = useJudge();
  const fields = useMemo(() => rules?.manifestForm(), [rules]);
  const offersOf = useOffers(manifest);
  if (error !== null) return <Failure error={error} />;
  if (fields === undefined) return <Loading what="the form" />;
  if (manifest === undefined) return <p className="dim">The form follows when the YAML can be read again.</p>;
  const context: FormContext = {
    document: manifest,
    onChange: (path: Path, value) => onChange(withValue(text, path, value)),
    offersOf,
    faults: faults.flatMap(({ field, message }) => (field === undefined ? [] : [{ field, message }])),
  };
  return <SchemaForm fields={fields} at={[]} context={context} />;
};

const whoText = ({ by, isChecking, tookMs, left }: Verdict): string => {
  if (by === 'gateway') return 'judged by the gateway';
  const own = tookMs === undefined ? '' : `judged in this browser in ${Math.max(1, Math.round(tookMs))} ms`;
  if (left !== undefined) return `left to the gateway: ${left}${isChecking ? ' …' : ''}`;
  return isChecking ? `${own}${own === '' ? '' : '; '}the gateway is asked …` : own;
};

const Consequences = ({ verdict }: { readonly verdict: Verdict }) => {
  const { unreadable, faults, plan, warnings, access, error } = verdict;
  return (
    <Panel title="What it would do" side={<span className="dim">{whoText(verdict)}</span>}>
      <div role="status">
        {unreadable === undefined ? null : (
          <p className="tone-error">
            <Icon name="error" /> {unreadable}
          </p>
        )}
        <Failure error={error} />
        <Faults faults={faults} />
        {plan === undefined ? null : <PlanSteps steps={plan} warnings={warnings} />}
        {access === undefined || faults.length > 0 ? null : (
          <p className="dim">The Kubernetes API is open to {access}.</p>
        )}
      </div>
    </Panel>
  );
};

/** Each fault with its field, in the words of the rules. */
const Faults = ({ faults }: { readonly faults: readonly Fault[] }) =>
  faults.length === 0 ? null : (
    <ul className="findings">
      {faults.map(({ code, field, message, help }) => (
        <li key={`${code} ${field ?? ''} ${message}`}>
          <span className="tone-error">
            <Icon name="error" />
          </span>
          <span>
            {field === undefined ? null : <code>{field}</code>} {message} <span className="dim">{help}</span>{' '}
            <code className="code">{code}</code>
          </span>
        </li>
      ))}
    </ul>
  );
