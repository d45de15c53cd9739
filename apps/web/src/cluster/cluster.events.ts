import { useQuery } from '@tanstack/react-query';
import { api, dataOf, type Schemas } from '../api.js';
import type { ClusterAt } from './cluster.at.js';

const PAGE = 1_000;
/** A history that is longer is shown from its beginning; the list of events reads on. */
const EVENTS_MAX = 20_000;

/** The whole history of a cluster, as far as one view reads it. */
export const useHistory = ({ namespace, cluster }: ClusterAt) =>
  useQuery({
    queryKey: ['cluster', namespace, cluster, 'history'],
    queryFn: async () => {
      const events: Schemas['Event'][] = [];
      for (let after = 0; ;) {
        const { items, next } = await dataOf(
          api.GET('/ns/{namespace}/clusters/{cluster}/events', {
            params: { path: { namespace, cluster }, query: { after, limit: PAGE } },
          }),
        );
        events.push(...items);
        if (next === null || events.length >= EVENTS_MAX) return events;
        after = next;
      }
    },
  });
