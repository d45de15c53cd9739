import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, type Cluster } from '../api.js';
import { actorText, counted } from '../format.js';
import { conditionLook, conditionWord } from '../ui/states.js';
import { Ago, Button, clusterPath, Failure, Link, Loading, Panel, State } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';

type Condition = Cluster['conditions'][number];

/** Those that are as they should be come last, and are folded away. */
const RANK = { error: 0, warning: 1, work: 2, ok: 3, quiet: 4 } as const;

export const Conditions = ({
  place,
  conditions,
}: {
  readonly place: ClusterAt;
  readonly conditions: readonly Condition[];
}) => {
  const sorted = conditions.toSorted((one, other) => RANK[conditionLook(one).tone] - RANK[conditionLook(other).tone]);
  const worth = sorted.filter((one) => RANK[conditionLook(one).tone] < RANK.ok);
  const others = sorted.filter((one) => !worth.includes(one));
  const list = (shown: readonly Condition[]) => (
    <ul className="conditions">
      {shown.map((condition) => (
        <One key={condition.type} place={place} condition={condition} />
      ))}
    </ul>
  );
  return (
    <Panel title="Conditions">
      {worth.length === 0 ? null : list(worth)}
      {others.length === 0 ? null : (
        <details className="fine">
          <summary>
            <State
              state="True"
              word={`${counted(others.length, 'condition')} as ${others.length === 1 ? 'it' : 'they'} should be`}
            />
          </summary>
          {list(others)}
        </details>
      )}
    </Panel>
  );
};

const One = ({ place, condition }: { readonly place: ClusterAt; readonly condition: Condition }) => {
  const [isOpen, setOpen] = useState(false);
  const { type, message, lastTransitionTime } = condition;
  return (
    <li>
      <div className="condition">
        <State state={type} look={conditionLook(condition)} word={conditionWord(condition)} />
        <span className="condition-message">{message}</span>
        <span className="dim num">
          <Ago at={lastTransitionTime} />
        </span>
        <Button look="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} aria-label={`Why ${type}`}>
          Why
        </Button>
      </div>
      {isOpen ? <Causes place={place} since={lastTransitionTime} /> : null}
    </li>
  );
};

const AROUND_MS = 1_500;

/** The events that changed the cluster when the condition changed, each with its actor. */
const Causes = ({ place: { namespace, cluster }, since }: { readonly place: ClusterAt; readonly since: string }) => {
  const at = Date.parse(since);
  const from = new Date(at - AROUND_MS).toISOString();
  const to = new Date(at + AROUND_MS).toISOString();
  const { data, error } = useQuery({
    queryKey: ['changes', namespace, cluster, from, to],
    queryFn: () =>
      dataOf(
        api.GET('/ns/{namespace}/clusters/{cluster}/changes', {
          params: { path: { namespace, cluster }, query: { from, to } },
        }),
      ),
  });
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Loading what="the events" />;
  const events = new Map(
    data.items.flatMap(({ fields }) =>
      fields.flatMap(({ event }) => (event === null ? [] : [[event.seq, event] as const])),
    ),
  );
  if (events.size === 0)
    return <p className="dim indent">Time alone changed it, or its events are not in this history.</p>;
  return (
    <ul className="indent causes">
      {[...events.values()].map(({ seq, sentence, actor }) => (
        <li key={seq}>
          <Link to={clusterPath(namespace, cluster, 'audit')} query={{ event: seq }} className="num">
            {seq}
          </Link>{' '}
          {sentence} <span className="dim">by {actorText(actor)}</span>
        </li>
      ))}
    </ul>
  );
};
