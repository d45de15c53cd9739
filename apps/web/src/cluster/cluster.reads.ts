import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../api.js';
import type { ClusterAt } from './cluster.at.js';

const POLL_MS = 5_000;

export const useCluster = ({ namespace, cluster }: ClusterAt, at: string | undefined) =>
  useQuery({
    queryKey: ['cluster', namespace, cluster, 'view', at],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/ns/{namespace}/clusters/{cluster}', {
          params: { path: { namespace, cluster }, query: at === undefined ? {} : { at } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: at === undefined ? POLL_MS : false,
  });

export const useManifest = ({ namespace, cluster }: ClusterAt) =>
  useQuery({
    queryKey: ['cluster', namespace, cluster, 'manifest'],
    queryFn: () =>
      dataOf(api.GET('/ns/{namespace}/clusters/{cluster}/manifest', { params: { path: { namespace, cluster } } })),
  });
