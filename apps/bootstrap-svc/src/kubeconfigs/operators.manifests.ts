import { OPERATORS_GROUP } from '@fairlead/contracts';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';

/**
 * Permissions of the group in operators' certificates: cluster-admin, like the operators of its namespace in Fairlead.
 */
export const OPERATORS_BINDING: Manifest = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: OPERATORS_GROUP, labels: { 'app.kubernetes.io/managed-by': 'fairlead' } },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: OPERATORS_GROUP }],
};
