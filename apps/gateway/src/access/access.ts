import type { ApiRole } from '@fairlead/contracts';
import { SetMetadata, type CustomDecorator } from '@nestjs/common';

/** What a route asks of its caller. A route without one is closed. */
export type Access =
  | { readonly kind: 'public' }
  /** Any valid token; the handler shows only what the caller may see. */
  | { readonly kind: 'authenticated' }
  /** The role in the namespace of the path. `dryRunRole`: enough with dryRun=All, which changes nothing; absent: the same role. */
  | { readonly kind: 'namespace'; readonly role: ApiRole; readonly dryRunRole?: ApiRole }
  /** The role in at least one namespace; the handler serves only what belongs to those. */
  | { readonly kind: 'some-namespace'; readonly role: ApiRole }
  /** The role in all namespaces. */
  | { readonly kind: 'everywhere'; readonly role: ApiRole };

/** What the kit serves for every service, and knows nothing of our decorators: health and metrics, which contain no names. */
export const KIT_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

export const ACCESS = 'fairlead:access';

const access = (needed: Access): CustomDecorator => SetMetadata(ACCESS, needed);

export const Public = (): CustomDecorator => access({ kind: 'public' });
export const Authenticated = (): CustomDecorator => access({ kind: 'authenticated' });
export const RoleInNamespace = (role: ApiRole, dryRunRole = role): CustomDecorator =>
  access({ kind: 'namespace', role, dryRunRole });
export const RoleInSomeNamespace = (role: ApiRole): CustomDecorator => access({ kind: 'some-namespace', role });
export const RoleEverywhere = (role: ApiRole): CustomDecorator => access({ kind: 'everywhere', role });
