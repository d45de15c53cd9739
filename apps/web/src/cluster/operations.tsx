import { useQuery } from '@tanstack/react-query';
import { api, dataOf, type Cluster } from '../api.js';
import { actorText, durationText } from '../format.js';
import { Ago, clusterPath, Empty, Failure, Icon, Link, Loading, Panel, State, Table } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';

export const useOperations = ({ namespace, cluster }: ClusterAt) =>
  useQuery({
    queryKey: ['cluster', namespace, cluster, 'operations'],
    queryFn: () =>
      dataOf(
        api.GET('/ns/{namespace}/clusters/{cluster}/operations', {
          params: { path: { namespace, cluster }, query: { limit: 1_000 } },
        }),
      ),
  });

export const Operations = ({ place }: { readonly place: ClusterAt }) => {
  const { data, error } = useOperations(place);
  const { namespace, cluster } = place;
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Loading what="operations" />;
  if (data.items.length === 0) return <Empty title="There was no operation." />;
  return (
    <Panel title="Operations">
      <Table label="Operations" head={['Operation', 'State', 'Started', 'Duration', 'By', 'Result']}>
        {data.items.toReversed().map((operation) => (
          <tr key={operation.id}>
            <td>
              <Link to={clusterPath(namespace, cluster, 'operations', operation.id)}>{operation.kind}</Link>
            </td>
            <td>
              <State state={operation.phase === 'Running' ? 'running' : operation.phase} word={operation.phase} />
            </td>
            <td className="num dim">
              <Ago at={operation.startedAt} />
            </td>
            <td className="num">{operation.durationMs === null ? '–' : durationText(operation.durationMs)}</td>
            <td>{actorText(operation.actor)}</td>
            <td className="wrap">{operation.message}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
};

/** The latest operation, step by step; what failed stays until its cause has ended. */
export const Running = ({
  view,
  place: { namespace, cluster },
}: {
  readonly view: Cluster;
  readonly place: ClusterAt;
}) => {
  const operations = useOperations({ namespace, cluster });
  const { progress } = view;
  if (progress === null) return null;
  const failed = progress.steps.flatMap(({ failure }) => failure ?? []);
  const isOver = progress.steps.every(({ state }) => state === 'done');
  if (isOver && failed.length === 0 && progress.nextActions.length === 0) return null;
  const id = operations.data?.items.at(-1)?.id;
  return (
    <Panel
      title={`Now: ${progress.operation}`}
      side={
        id === undefined ? undefined : (
          <Link to={clusterPath(namespace, cluster, 'operations', id)}>
            Timeline <Icon name="next" />
          </Link>
        )
      }
    >
      <ol className="steps">
        {progress.steps.map((step) => (
          <li key={step.name} className={`step step-${step.state}`}>
            <State state={step.state === 'waiting' ? 'Planned' : step.state} word={step.title} />
            <span className="num dim">
              {step.done === null || step.total === null ? '' : `${step.done}/${step.total}`}{' '}
              {step.durationMs === null ? '' : durationText(step.durationMs)}
            </span>
            {step.failure === null ? null : (
              <p className="step-failure">
                {step.failure.sentence}{' '}
                <span className="dim">
                  attempt {step.failure.attempt} of {step.failure.attemptsMax}
                  {step.failure.nextAttemptAt === null ? (
                    '; it is not tried again'
                  ) : (
                    <>
                      ; next <Ago at={step.failure.nextAttemptAt} />
                    </>
                  )}
                </span>
              </p>
            )}
          </li>
        ))}
      </ol>
      <NextActions actions={progress.nextActions} />
    </Panel>
  );
};

export const NextActions = ({ actions }: { readonly actions: readonly string[] }) =>
  actions.length === 0 ? null : (
    <div className="next">
      <h3>What can be done</h3>
      <ul>
        {actions.map((action) => (
          <li key={action}>{action}</li>
        ))}
      </ul>
    </div>
  );
