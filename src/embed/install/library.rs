//! Which wheel of `onnxruntime` holds the library for this platform.

use super::package::Wheel;
use crate::embed::runtime;
use crate::error::{Error, ExitCode, Result};

const PACKAGE: &str = "onnxruntime==1.32.0";

/// The library for one platform.
pub(super) struct Library {
    system: &'static str,
    processor: &'static str,
    platform: &'static str,
    wheel_sha256: &'static str,
    member: &'static str,
    /// SHA-256 of the library.
    pub sha256: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
}

const LIBRARIES: &[Library] = &[
    Library {
        system: "linux",
        processor: "x86_64",
        platform: "manylinux_2_28_x86_64",
        wheel_sha256: "5a34fc4dfeb5a7b4a74c95dcba1e773d722abda720b474edf1b0c419dc6d163d",
        member: "onnxruntime/capi/libonnxruntime.so.1.32.0",
        sha256: "6c1585d1bbf45b0712ea4a21b705c5fcb4ba04ff2e30f1fbf81a49faf658638f",
        bytes: 34_824_680,
    },
    Library {
        system: "linux",
        processor: "aarch64",
        platform: "manylinux_2_28_aarch64",
        wheel_sha256: "2303372a85299b6757b0e11e1cbf13e410ddf7e10c37f4b37e99d1c90e7daf7c",
        member: "onnxruntime/capi/libonnxruntime.so.1.32.0",
        sha256: "49852228a93995158b2a813d4df487d47a1b76b0eaa894507ef49e91b6d7954a",
        bytes: 27_165_936,
    },
    Library {
        system: "macos",
        processor: "aarch64",
        platform: "macosx_14_0_arm64",
        wheel_sha256: "366b9e53d07812cc5c92822cecf7563b76a8a0f32ba3bb8dd232a206ac3bcb6c",
        member: "onnxruntime/capi/libonnxruntime.1.32.0.dylib",
        sha256: "fa585fabbea65b823b9a8f7e27d46aee3989d1be7e36b528203d3a1fd613aae7",
        bytes: 35_272_344,
    },
];

/// The library for the platform this program was built for.
pub(super) fn of_this_platform() -> Result<&'static Library> {
    let (system, processor) = (std::env::consts::OS, std::env::consts::ARCH);
    LIBRARIES
        .iter()
        .find(|library| library.system == system && library.processor == processor)
        .ok_or_else(|| {
            let message = format!("no ONNX Runtime library is known for {system} on {processor}");
            Error::new(ExitCode::Missing, message)
                .hint("install ONNX Runtime 1.20 or newer yourself and set embed.onnxruntime")
        })
}

impl Library {
    /// Name of the library in the models folder.
    pub fn file_name(&self) -> String {
        runtime::library_name()
    }

    /// The wheel it is in.
    pub fn wheel(&self) -> Wheel<'static> {
        Wheel {
            package: PACKAGE,
            sha256: self.wheel_sha256,
            member: self.member,
            platform: Some(self.platform),
        }
    }
}
