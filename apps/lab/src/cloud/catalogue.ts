/** The sizes that the simulated cloud offers. */
export interface MachineSpec {
  readonly name: string;
  readonly cpuCount: number;
  readonly memoryGiB: number;
  readonly cpuClockGHz: number;
}

export const SPECS: readonly MachineSpec[] = [
  { name: 'lab.tiny', cpuCount: 1, memoryGiB: 1, cpuClockGHz: 2.4 },
  { name: 'lab.small', cpuCount: 2, memoryGiB: 2, cpuClockGHz: 2.4 },
  { name: 'lab.medium', cpuCount: 2, memoryGiB: 4, cpuClockGHz: 2.4 },
  { name: 'lab.large', cpuCount: 4, memoryGiB: 8, cpuClockGHz: 3.1 },
  { name: 'lab.xlarge', cpuCount: 8, memoryGiB: 32, cpuClockGHz: 3.1 },
];

export interface Region {
  readonly name: string;
  readonly zones: readonly string[];
}

export const REGIONS: readonly Region[] = [{ name: 'lab-1', zones: ['lab-1a', 'lab-1b', 'lab-1c'] }];

export interface Image {
  readonly name: string;
  readonly os: string;
}

export const IMAGES: readonly Image[] = [
  { name: 'debian-12', os: 'Debian GNU/Linux 12 (simulated by Fairlead lab)' },
  { name: 'debian-13', os: 'Debian GNU/Linux 13 (simulated by Fairlead lab)' },
];

export const specNamed = (name: string): MachineSpec | undefined => SPECS.find((spec) => spec.name === name);
export const regionNamed = (name: string): Region | undefined => REGIONS.find((region) => region.name === name);
export const imageNamed = (name: string): Image | undefined => IMAGES.find((image) => image.name === name);
