import { useState } from 'react';
import { api, dataOf, type Cluster, type Schemas } from '../api.js';
import { useMay } from '../session/session.js';
import { ActDialog, type Act } from '../ui/dialog.js';
import { Button, Clock, clusterPath, Empty, Failure, Link, Loading, Panel, State, Table } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';
import { useHistory } from './cluster.events.js';
import { useManifest } from './cluster.reads.js';
import { answersOf, type HookAnswer } from './hook.answers.js';

type Hook = Schemas['Hook'];

/** The hooks of a cluster: what each holds, and what it last answered at which point. */
export const Hooks = ({ place, view }: { readonly place: ClusterAt; readonly view: Cluster }) => {
  const manifest = useManifest(place);
  const history = useHistory(place);
  if (manifest.error !== null) return <Failure error={manifest.error} />;
  if (manifest.data === undefined || history.data === undefined) return <Loading what="hooks" />;
  const hooks = manifest.data.spec.hooks ?? [];
  const held = view.conditions.find(({ type, status }) => type === 'HookBlocked' && status === 'True');
  return (
    <>
      {held === undefined ? null : (
        <p className="sentence tone-warning" role="status">
          {held.message}
        </p>
      )}
      <Declared place={place} hooks={hooks} answers={answersOf(history.data)} />
    </>
  );
};

const Declared = ({
  place,
  hooks,
  answers,
}: {
  readonly place: ClusterAt;
  readonly hooks: readonly Hook[];
  readonly answers: readonly HookAnswer[];
}) => {
  const mayDo = useMay();
  const [act, setAct] = useState<Act | undefined>(undefined);
  const mayAct = mayDo('operator', place.namespace);
  if (hooks.length === 0)
    return (
      <Empty title="The cluster declares no hooks.">
        <p className="dim">A hook is an HTTP service that is asked before and after steps, and may hold them.</p>
      </Empty>
    );
  return (
    <Panel title="Hooks">
      <Table
        label="Hooks"
        head={[
          'Hook',
          'Point',
          'Last answer',
          'When',
          'What it said',
          'If it fails',
          'Signed',
          ...(mayAct ? ['Actions'] : []),
        ]}
      >
        {hooks.flatMap((hook) =>
          hook.points.map((point) => {
            const answer = answers.find((one) => one.hook === hook.name && one.point === point);
            const isHeld = answer?.state === 'blocked' || answer?.state === 'failed';
            return (
              <tr key={`${hook.name} ${point}`}>
                <td title={hook.url}>{hook.name}</td>
                <td>{point}</td>
                <td>
                  {answer === undefined ? <span className="dim">never asked</span> : <State {...LOOKS[answer.state]} />}
                </td>
                <td className="num dim">
                  <Clock at={answer?.time} />
                </td>
                <td className="wrap">
                  {answer === undefined ? null : (
                    <Link to={clusterPath(place.namespace, place.cluster, 'audit')} query={{ event: answer.seq }}>
                      {answer.sentence}
                    </Link>
                  )}
                </td>
                <td>{hook.failurePolicy === 'Ignore' ? 'the step goes on' : 'the step waits'}</td>
                <td>{hook.secretName ?? 'no'}</td>
                {mayAct ? (
                  <td>
                    {isHeld ? (
                      <Button
                        look="quiet"
                        aria-label={`Skip ${hook.name} at ${point}`}
                        onClick={() => setAct(skipOf(place, hook.name, point))}
                      >
                        Skip
                      </Button>
                    ) : null}
                  </td>
                ) : null}
              </tr>
            );
          }),
        )}
      </Table>
      <ActDialog act={act} onClose={() => setAct(undefined)} />
    </Panel>
  );
};

const LOOKS = {
  succeeded: { state: 'Succeeded', word: 'consented' },
  blocked: { state: 'Held', word: 'holds' },
  failed: { state: 'Failed', word: 'failed' },
  skipped: { state: 'Aborted', word: 'skipped' },
} as const;

const skipOf = (place: ClusterAt, hook: string, point: Hook['points'][number]): Act => ({
  title: `Go on without ${hook} at ${point}?`,
  description: 'What waits for it now goes on as if it had consented. It is asked again the next time.',
  button: 'Go on',
  needsReason: true,
  run: ({ reason }) =>
    dataOf(
      api.POST('/ns/{namespace}/clusters/{cluster}/hooks/{hook}/skip', {
        params: { path: { ...place, hook } },
        body: { point, reason },
      }),
    ),
});
