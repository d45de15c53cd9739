import { EVERY_NAMESPACE, refuse, type ApiRole, type Refusal } from '@fairlead/contracts';

export const roleMissing = (role: ApiRole, namespace: string): Refusal =>
  refuse('auth.role-missing', {
    role,
    where: namespace === EVERY_NAMESPACE ? 'all namespaces' : `namespace ${namespace}`,
  });
