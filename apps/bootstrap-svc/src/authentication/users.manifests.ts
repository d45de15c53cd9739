import type { EventData, Oidc } from '@fairlead/contracts';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';

type RoleBinding = EventData<'UsersAuthorized'>['roleBindings'][number];

/** The binding of a role to groups of the identity provider. Without groups it gives nothing to anyone. */
export const usersBinding = (
  { clusterRole, groups }: RoleBinding,
  { groupsPrefix = '' }: Partial<Pick<Oidc, 'groupsPrefix'>>,
): Manifest => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  // A binding cannot be given another role: each role has one of its own.
  metadata: { name: `fairlead:oidc:${clusterRole}`, labels: { 'app.kubernetes.io/managed-by': 'fairlead' } },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
  subjects: groups.map((group) => ({
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'Group',
    name: `${groupsPrefix}${group}`,
  })),
});
