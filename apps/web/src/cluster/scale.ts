import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, dataOf } from '../api.js';
import type { ClusterAt } from './cluster.at.js';

const SCALE = '/ns/{namespace}/clusters/{cluster}/pools/{pool}/scale';

/** The plan of a size, and its execution. */
export const useScale = (place: ClusterAt, pool: string, replicas: number, onDone: () => void) => {
  const queries = useQueryClient();
  const path = { ...place, pool };
  const body = { spec: { replicas } };
  const plan = useQuery({
    queryKey: ['scale', path, replicas],
    queryFn: () => dataOf(api.PUT(SCALE, { params: { path, query: { dryRun: 'All' } }, body })),
    retry: false,
  });
  const apply = useMutation({
    mutationFn: () => dataOf(api.PUT(SCALE, { params: { path }, body })),
    onSuccess: async () => {
      await queries.invalidateQueries();
      onDone();
    },
  });
  return { plan, apply };
};
