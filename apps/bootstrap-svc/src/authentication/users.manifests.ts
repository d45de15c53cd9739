import type { EventData, Oidc } from '@fairlead/contracts';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';

type RoleBinding = EventData<'UsersAuthorized'>['roleBindings'][number];

/** Binds a role to groups of the identity provider. Without groups it grants nothing. */
export const usersBinding = (
  { clusterRole, groups }: RoleBinding,
  { groupsPrefix = '' }: Partial<Pick<Oidc, 'groupsPrefix'>>,
): Manifest => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  // The role of a binding is immutable, so each role has a separate binding.
  metadata: { name: `fairlead:oidc:${clusterRole}`, labels: { 'app.kubernetes.io/managed-by': 'fairlead' } },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
  subjects: groups.map((group) => ({
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'Group',
    name: `${groupsPrefix}${group}`,
  })),
});
