//! The command line: data to stdout, exit status 1 for what is not as pinned, 2 for what cannot be answered.
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// Exit status, stdout, stderr.
fn remit_model(arguments: &[&str]) -> io::Result<(Option<i32>, String, String)> {
    let output = Command::new(env!("CARGO_BIN_EXE_remit-model"))
        .args(arguments)
        .output()?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Ok((
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    ))
}

#[test]
fn a_subject_is_counted_in_each_format() -> io::Result<()> {
    for (format, expected) in [
        ("text", "\nLGF/A_FD                TypeOK FD  "),
        ("markdown", "| LGF/A_FD | TypeOK FD | 5 | 5 | 3 | FD violated |"),
        ("json", "\"counted\": {\"generated\": 5, \"distinct\": 5, \"depth\": 3, \"verdict\": \"FD violated\"}"),
    ] {
        let (code, out, err) = remit_model(&["forks", "--format", format])?;
        assert!(out.contains(expected), "{out}");
        assert_eq!((code, err.as_str()), (Some(0), "6 runs, 0 not as pinned\n"));
    }
    Ok(())
}

#[test]
fn what_is_not_as_pinned_fails() -> io::Result<()> {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
    fs::create_dir_all(dir.join("cfg/LGF"))?;
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    fs::copy(models.join("cfg/LGF/B.cfg"), dir.join("cfg/LGF/B.cfg"))?;
    let pin = |distinct: u8| format!("header\nLGF/B,LangGraphFork,-,7,{distinct},3,all hold\n");
    for (distinct, expected) in [(7, 0), (8, 1)] {
        fs::write(dir.join("results.csv"), pin(distinct))?;
        let (code, _, err) = remit_model(&["forks", "--models", &dir.to_string_lossy()])?;
        assert_eq!(code, Some(expected), "{err}");
    }
    // nothing to check is not a pass
    assert_eq!(
        remit_model(&["race", "--models", &dir.to_string_lossy()])?.0,
        Some(2)
    );
    Ok(())
}

#[test]
fn a_counterexample_is_replayed_step_by_step() -> io::Result<()> {
    let (code, out, _) = remit_model(&["replay", "R1_replay"])?;
    assert_eq!(code, Some(0));
    assert!(
        out.starts_with("R1_replay: EO is violated\n1 Init\n"),
        "{out}"
    );
    assert!(
        out.contains("3 CrashRecover(reexec)\n    pc = 1\n"),
        "{out}"
    );
    assert!(
        out.contains("4 ExecTask\n    pc = 2\n    effects = <<2, 0, 0>>\n"),
        "{out}"
    );
    let (_, out, _) = remit_model(&["replay", "Parked/volatile_liveness"])?;
    assert!(
        out.ends_with("    lost = true\nand nothing happens any more\n"),
        "{out}"
    );
    let (_, out, _) = remit_model(&["replay", "claim/matrix/PerCheckpoint_Takeable"])?;
    assert!(
        out.contains(
            "4 Answer(w1, ParkedAgain { answered: true }): Accepted\n    at = question 2\n"
        ),
        "{out}"
    );
    assert!(
        out.contains("claims = <<consumed under fence 1>>\n"),
        "{out}"
    );
    let (_, out, _) = remit_model(&["replay", "R0_reference"])?;
    assert!(out.contains("nothing to replay"), "{out}");
    Ok(())
}

#[test]
fn the_core_is_driven_and_a_trace_is_replayed_on_it() -> io::Result<()> {
    let (code, out, _) = remit_model(&["conform", "50", "7"])?;
    assert_eq!(code, Some(0));
    assert!(
        out.starts_with("R0_reference: 138 sequences, 59 states seen, all as the model has it\n"),
        "{out}"
    );
    assert_eq!(out.matches("all as the model has it").count(), 3, "{out}");
    let (code, out, _) = remit_model(&[
        "replay",
        "3,2,2,2,1,1: ExecTask EmitInterrupt CrashParked(skip) Consume(v2)",
    ])?;
    assert_eq!(code, Some(0));
    assert!(
        out.contains("5 Consume(v2)\n    pc = 3\n    effects = <<1, 1, 0>>\n"),
        "{out}"
    );
    Ok(())
}

#[test]
fn predictions_are_printed() -> io::Result<()> {
    let (code, out, _) = remit_model(&["traces", "1", "7"])?;
    assert_eq!(
        (code, out.matches("\"name\": \"seed 7\"").count()),
        (Some(0), 1)
    );
    assert!(out.starts_with("{\"name\": \"R1_replay\", "), "{out}");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("protocols");
    for (line, expected) in [
        ("a fork: c1=va -=vb c1={vb}\n", Some(0)),
        ("a fork: c1=va c1\n", Some(2)),
        ("a fork: c1=va c0=va\n", Some(2)),
        (
            "too long: c1=va c1=va c1=va c1=va c1=va c1=va c1=va c1=va c1=va\n",
            Some(2),
        ),
    ] {
        fs::write(&path, line)?;
        let (code, out, err) = remit_model(&["predict", &path.to_string_lossy()])?;
        assert_eq!(code, expected, "{err}");
        let served = "\"LGF-A\": [\"va\", \"va\"], \"LGF-B\": [\"va\", \"vb\"]}\n";
        assert!(expected != Some(0) || out.ends_with(served), "{out}");
    }
    Ok(())
}

#[test]
fn what_is_not_understood_is_refused() -> io::Result<()> {
    for wrong in [
        &["no-such"][..],
        &["check", "--format", "xml"],
        &["check", "--models"],
        &["check", "--no-such"],
        &["replay", "no-such"],
        &["replay", "claim/no-such"],
        &["replay", "3,2,2,2,1,1: Consume(v1)"],
        &["replay", "3,9,2,2,1,1: ExecTask"],
        &["conform", "many"],
    ] {
        let (code, out, err) = remit_model(wrong)?;
        assert_eq!((code, out.as_str()), (Some(2), ""), "{wrong:?}");
        assert!(err.starts_with("error: "), "{err}");
    }
    Ok(())
}
