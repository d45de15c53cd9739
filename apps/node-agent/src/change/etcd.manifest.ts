import { ExternalFailure } from '@fairlead/contracts';

/** The flags of etcd on this host, in its static pod or its unit. */
export interface Member {
  readonly name: string;
  readonly peerUrl: string;
  readonly dataFolder: string;
  /** Of its write-ahead log; null: in the data folder. */
  readonly walFolder: string | null;
}

const optionalIn = (manifest: string, flag: string): string | undefined =>
  new RegExp(`^[ \\t]*(?:-[ \\t]+)?--${flag}=(\\S+)[ \\t\\\\]*$`, 'm').exec(manifest)?.[1];

const flagIn = (manifest: string, flag: string): string => {
  const value = optionalIn(manifest, flag);
  if (value !== undefined) return value;
  const message = `it does not say --${flag}`;
  throw new ExternalFailure({ operation: 'read the manifest of etcd', target: 'host', message, retryable: false });
};

/** Parses one flag per line, the format of kubeadm's manifest and of Fairlead's unit. */
export const memberIn = (manifest: string): Member => ({
  name: flagIn(manifest, 'name'),
  peerUrl: flagIn(manifest, 'initial-advertise-peer-urls'),
  dataFolder: flagIn(manifest, 'data-dir'),
  walFolder: optionalIn(manifest, 'wal-dir') ?? null,
});

export const imageOf = (manifest: string): string => {
  const image = /^[ \t]*image:[ \t]*(\S+)[ \t]*$/m.exec(manifest)?.[1];
  if (image !== undefined) return image;
  const message = 'it names no image';
  throw new ExternalFailure({ operation: 'read the manifest of etcd', target: 'host', message, retryable: false });
};
