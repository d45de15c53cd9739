/** What `fairlead up` was asked for, with every default filled in. */
export interface UpSettings {
  readonly dataDir: string;
  readonly port: number;
  readonly provider: Provider;
  readonly delays: LabDelays;
  readonly light: boolean;
  readonly demo: DemoSettings | undefined;
}

export interface DemoSettings {
  readonly controlPlanes: number;
  readonly workers: number;
  /** undefined: the server's default. */
  readonly kubernetesVersion: string | undefined;
}

/** What this version can build machines with. */
export const PROVIDERS = ['lab'] as const;
export type Provider = (typeof PROVIDERS)[number];

export const LAB_DELAYS = ['real', 'none'] as const;
export type LabDelays = (typeof LAB_DELAYS)[number];

export const DEFAULT_PORT = 7080;
export const DEFAULT_NAMESPACE = 'default';
export const DEMO = { cluster: 'demo', spec: 'lab.medium', serviceType: 'single', networkCni: 'flannel' } as const;

/** Where the simulated hosts are, and what they are called there. */
export const LAB = { connection: 'lab', region: 'lab-1', zone: 'lab-1a' } as const;
