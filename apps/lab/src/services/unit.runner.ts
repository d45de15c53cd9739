/** A unit's program, ready to be started. */
export interface UnitProgram {
  readonly unit: string;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
}

export interface UnitProcess {
  /**
   * Resolves when the program has ended, with how: `0`, `exit code 1`, `signal SIGKILL` or why it could not be started.
   * Never rejects.
   */
  readonly ended: Promise<UnitEnd>;
  readonly pid: number;
  /** Requests termination, and kills the program after a timeout. Resolves once it has ended. */
  stop(): Promise<void>;
  /** Kills the program. */
  kill(): Promise<void>;
}

export interface UnitEnd {
  readonly success: boolean;
  readonly words: string;
}

/** Starts the programs of units: real processes on full hosts, the agent in the lab's process on light ones. */
export interface UnitRunner {
  start(program: UnitProgram): UnitProcess;
  /** The last lines that the unit wrote. */
  journal(unit: string, linesMax: number): Promise<readonly string[]>;
  /** How many lines it has written, including those no longer kept. */
  written(unit: string): Promise<number>;
  note(unit: string, line: string): void;
}
