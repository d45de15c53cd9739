/** A unit's program, ready to be started. */
export interface UnitProgram {
  readonly unit: string;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDirectory: string | undefined;
}

export interface UnitProcess {
  /** Resolves when the program has ended, with how: `0`, `exit code 1`, `signal SIGKILL` or what could not be started. Never rejects. */
  readonly ended: Promise<UnitEnd>;
  readonly pid: number;
  /** Asks it to end, and makes it end after a while. Resolves when it has. */
  stop(): Promise<void>;
  /** Ends it at once. */
  kill(): Promise<void>;
}

export interface UnitEnd {
  readonly success: boolean;
  readonly words: string;
}

/** Starts programs of units: real processes on full hosts, the agent inside the lab's own process on light ones. */
export interface UnitRunner {
  start(program: UnitProgram): UnitProcess;
  /** The newest lines that the unit wrote. */
  journal(unit: string, linesMax: number): Promise<readonly string[]>;
  /** How many lines it has written, those that are not kept included. */
  written(unit: string): Promise<number>;
  note(unit: string, line: string): void;
}
