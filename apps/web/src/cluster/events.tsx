import { useInfiniteQuery } from '@tanstack/react-query';
import { api, dataOf } from '../api.js';
import { actorText, isPerson } from '../format.js';
import { Button, Clock, clusterPath, Empty, Failure, Icon, Link, Loading, Panel } from '../ui/ui.js';
import type { ClusterAt } from './cluster.at.js';

const PAGE = 1_000;

/** The history of the cluster as sentences, the latest first. */
export const ClusterEvents = ({
  place: { namespace, cluster },
  at,
}: {
  readonly place: ClusterAt;
  readonly at: string | undefined;
}) => {
  const events = useInfiniteQuery({
    queryKey: ['cluster', namespace, cluster, 'events'],
    queryFn: ({ pageParam }) =>
      dataOf(
        api.GET('/ns/{namespace}/clusters/{cluster}/events', {
          params: { path: { namespace, cluster }, query: { after: pageParam, limit: PAGE } },
        }),
      ),
    initialPageParam: 0,
    getNextPageParam: ({ next }) => next ?? undefined,
  });
  if (events.error !== null) return <Failure error={events.error} />;
  if (events.data === undefined) return <Loading what="events" />;
  const items = events.data.pages
    .flatMap((page) => page.items)
    .filter(
      ({ seq, time }) =>
        at === undefined || (/^\d+$/.test(at) ? seq <= Number(at) : Date.parse(time) <= Date.parse(at)),
    )
    .toReversed();
  if (items.length === 0) return <Empty title="Nothing had happened." />;
  return (
    <Panel
      title="Events"
      side={events.hasNextPage ? <Button onClick={() => void events.fetchNextPage()}>Read on</Button> : undefined}
    >
      <ol className="events">
        {items.map((event) => (
          <li key={event.seq}>
            <span className="num dim">
              <Clock at={event.time} />
            </span>
            <Link
              to={clusterPath(namespace, cluster, 'audit')}
              query={{ event: event.seq }}
              className="num"
              title={event.type}
            >
              {event.seq}
            </Link>
            <span>{event.sentence}</span>
            <span className="dim nowrap">
              {isPerson(event.actor) ? <Icon name="person" /> : null} {actorText(event.actor)}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
};
