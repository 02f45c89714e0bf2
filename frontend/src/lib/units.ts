/**
 * A type for each unit, so that two of them can't meet by mistake.
 * A value gets its unit once, where it enters (an API field, a text box); arithmetic keeps it.
 */

declare const unit: unique symbol;
type Unit<Name extends string> = number & { readonly [unit]: Name };

/** Parts per million of the mix: 0 to 1,000,000; the weights of a version sum to 1,000,000. */
export type Ppm = Unit<"ppm">;
/** A share from 0 to 1. */
export type Share = Unit<"share">;
/** A count of tokens. */
export type Tokens = Unit<"tokens">;
/** Tokens a second. */
export type TokensPerSecond = Unit<"tokens/s">;
/** Milliseconds. */
export type Millis = Unit<"ms">;
/** Bytes. */
export type Bytes = Unit<"bytes">;

// Give a plain number its unit.
export const ppm = (value: number) => value as Ppm;
export const share = (value: number) => value as Share;
export const tokens = (value: number) => value as Tokens;
export const tokensPerSecond = (value: number) => value as TokensPerSecond;
export const millis = (value: number) => value as Millis;
export const bytes = (value: number) => value as Bytes;

/** The whole mix. */
export const WHOLE = ppm(1_000_000);

/** 10,000 ppm are one percent. */
export const ppmToPercent = (value: Ppm) => value / 10_000;
/** The nearest ppm to a percentage, so that what is shown with four decimals is what is sent. */
export const percentToPpm = (percent: number) => ppm(Math.round(percent * 10_000));
