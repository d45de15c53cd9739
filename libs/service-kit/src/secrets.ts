import type { SecretRef } from '@fairlead/contracts';

/**
 * Sealed values (AES-256-GCM, a key per owner under the master key). Only the service named in a reference's prefix may
 * write it.
 */
export interface SecretStore {
  /** `owner` is a cluster's uid, or 'shared'; destroying the owner's key makes all its secrets unreadable permanently. */
  put(ref: SecretRef, value: string, owner: string): Promise<void>;
  /** undefined: no such secret, or its owner's key was destroyed. A value that fails authentication is an error. */
  get(ref: SecretRef): Promise<string | undefined>;
  delete(ref: SecretRef): Promise<void>;
  destroyKey(owner: string): Promise<void>;
}
